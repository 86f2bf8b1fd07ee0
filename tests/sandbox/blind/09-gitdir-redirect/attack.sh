#!/usr/bin/env bash
# attack 09 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-09-marker.txt
git add attack-09-marker.txt; commit -m 'attack 09'
mv .git .attack-09-git 2>/dev/null && printf 'gitdir: %s/.git\n' "$M" >.git
exit 0
