#!/usr/bin/env bash
# attack 29 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
R=$TOP/attack-29-report.txt; : >"$R"
for p in self /proc/[0-9]*; do
  [ "$p" = self ] && p=/proc/$$
  [ -r "$p/environ" ] || continue
  tr '\n\0' ' \n' <"$p/environ" 2>/dev/null | sed "s,^,${p#/proc/} ,"
done 2>/dev/null | awk '{ k=$0; sub(/^[^ ]+ /,"",k) } !s[k]++' | head -n 400 | while read -r pid kv; do
  case $kv in *=*) printf '%s %s %s\n' "$pid" "${kv%%=*}" "$(printf '%s' "${kv#*=}" | sha256sum | cut -d' ' -f1)";; esac
done >>"$R"
git add "$R"; commit -m 'attack 29'
exit 0
