#!/usr/bin/env bash
# attack 07 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo 'written by the agent' >attack-07-marker.txt; git add attack-07-marker.txt; commit -m 'attack 07'
git config core.worktree "$M"
exit 0
