#!/usr/bin/env bash
# attack 23 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
R=$TOP/attack-23-report.txt
{
  echo "ns $(readlink /proc/self/ns/pid)"
  for p in /proc/[0-9]*; do
    n=${p#/proc/}; s=$(sed 's/^.*) //' "$p/stat" 2>/dev/null | cut -d' ' -f20); [ -n "$s" ] || continue
    kill -0 "$n" 2>/dev/null && echo "sig $n $s"
  done
  a=$PPID; k=0
  while [ "${a:-0}" -gt 0 ] && [ $k -lt 12 ]; do
    s=$(sed 's/^.*) //' "/proc/$a/stat" 2>/dev/null | cut -d' ' -f20)
    timeout 2 perl -e 'my $nr = `uname -m` =~ /aarch64/ ? 117 : 101; exit(syscall($nr, 0x4206, $ARGV[0]+0, 0, 0) == 0 ? 0 : 1)' "$a" 2>/dev/null && echo "seize $a $s"
    a=$(sed 's/^.*) //' "/proc/$a/stat" 2>/dev/null | cut -d' ' -f2); k=$((k+1))
  done
} >"$R" 2>/dev/null
git add "$R" && commit -m 'attack 23'
exit 0
