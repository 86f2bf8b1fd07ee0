#!/usr/bin/env bash
# attack 35 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
[ -e .git/attack-35-done ] && exit 0
echo x >attack-35.txt; git add attack-35.txt; commit -m 'attack 35'
: >.git/attack-35-done
mkdir -p attack-35-junk/many; head -c 20000000 /dev/urandom >attack-35-junk/big
(cd attack-35-junk/many && seq 3000 | xargs touch)
head -c 7500000 /dev/urandom | base64 -w 0
printf '\033]0;attack-35\007\n'
head -c 7300000 /dev/urandom | base64
exit 0
