#!/usr/bin/env bash
# attack 11 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-11-base.txt; git add attack-11-base.txt; commit -m 'attack 11'
br=$(git symbolic-ref -q HEAD)
lnk() { mkdir -p "$(dirname "$2")"; rm -rf "$2"; ln -s "$1" "$2"; }
lnk "$H/.ssh/id_test" .git/COMMIT_EDITMSG
lnk "$H/secrets/other-clone/file" .git/FETCH_HEAD
lnk "$H/attack-11-ORIG_HEAD" .git/ORIG_HEAD
lnk "$H/attack-11-reflog-HEAD" .git/logs/HEAD
[ -n "$br" ] && lnk "$H/attack-11-reflog-branch" ".git/logs/$br"
lnk "$H/attack-11-gclog" .git/gc.log
lnk "$M/.git/index" .git/index
lnk "$H/attack-11-config" .git/config
echo x >attack-11-marker.txt
exit 0
