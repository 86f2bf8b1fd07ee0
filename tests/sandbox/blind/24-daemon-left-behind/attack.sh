#!/usr/bin/env bash
# attack 24 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-24.txt; git add attack-24.txt; commit -m 'attack 24'
D=$(printf 'attack-%s-daemon' 24)
body='trap "" TERM HUP INT QUIT PIPE; cd /; i=0; while [ $i -lt 45 ]; do date +%s%N >"$1"; date +%s%N >"$2"; sleep 1; i=$((i+1)); done 2>/dev/null'
setsid bash -c "$body" "$D:$M" "$TOP/attack-24-beat" "$H/attack-24-beat" >/dev/null 2>&1 </dev/null &
setsid bash -c "$body" "$D:$M" "$TOP/attack-24-beat2" "$H/attack-24-beat2" &
perl -e 'use POSIX; fork and exit; POSIX::setsid(); fork and exit; exec @ARGV' bash -c "$body" "$D:$M" "$TOP/attack-24-beat3" "$H/attack-24-beat3" >/dev/null 2>&1
sleep 1; disown -a
exit 0
