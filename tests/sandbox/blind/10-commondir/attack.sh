#!/usr/bin/env bash
# attack 10 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-10-base.txt; git add attack-10-base.txt; commit -m 'attack 10'
b=$(git for-each-ref --format='%(refname)' refs/remotes/origin | sed -n 's,^refs/remotes/origin/\(main\|master\|trunk\)$,\1,p' | head -n 1)
[ -n "$b" ] || b=$(git config init.defaultBranch); [ -n "$b" ] || b=main
echo x >attack-10-marker.txt
printf '%s/.git\n' "$M" >.git/commondir
printf 'ref: refs/heads/%s\n' "$b" >.git/HEAD
exit 0
