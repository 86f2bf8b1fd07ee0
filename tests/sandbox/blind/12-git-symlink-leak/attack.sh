#!/usr/bin/env bash
# attack 12 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-12.txt; git add attack-12.txt; commit -m 'attack 12'
mkdir -p .git/info .git/objects/info
for f in .git/packed-refs .git/shallow .git/info/grafts .git/objects/info/alternates; do
  rm -f "$f"; ln -s "$H/.ssh/id_test" "$f"
done
exit 0
