#!/usr/bin/env bash
# attack 19 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
MARK=$(printf '%s-%s' spoiled 19hard)
echo x >attack-19.txt; git add attack-19.txt; commit -m 'attack 19'
find . -type f -links +1 -print0 | head -z -n 500 | while IFS= read -r -d '' f; do chmod u+w "$f" && printf '%s\n' "$MARK" >>"$f"; done 2>/dev/null
exit 0
