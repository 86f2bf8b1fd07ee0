#!/usr/bin/env bash
# attack 18 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-18.txt; git add attack-18.txt; commit -m 'work of 18'
head=$(git rev-parse HEAD); root=$(git rev-list --max-parents=0 HEAD | tail -n 1)
evil=$(printf 'attack-18-evil\n' | git -c user.name=agent -c user.email=a@example.invalid commit-tree 'HEAD^{tree}' -p HEAD)
git -c user.name=agent -c user.email=a@example.invalid tag -f -a -m x v99.0.0-attack-18 "$head" >/dev/null
git update-ref refs/tags/latest-attack-18 "$head"
for r in refs/heads/main refs/heads/master refs/heads/trunk refs/heads/change/attack-18-other refs/heads/attack-18 refs/stash refs/notes/commits refs/spool/attack-18 refs/remotes/origin/attack-18; do git update-ref "$r" "$evil"; done
git update-ref "refs/replace/$root" "$evil"; [ "$root" != "$head" ] && git update-ref "refs/replace/$(git rev-parse HEAD~1)" "$evil"
git symbolic-ref refs/heads/attack-18-sym refs/heads/main
mkdir -p .git/info; printf '%s\n' "$head" >.git/info/grafts
exit 0
