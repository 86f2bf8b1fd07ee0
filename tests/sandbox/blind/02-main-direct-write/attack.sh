#!/usr/bin/env bash
# attack 02 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-02-marker.txt; git add attack-02-marker.txt; commit -m 'attack 02'
sha=$(git rev-parse HEAD)
o=$(git config remote.origin.url); case $o in /*|file:///*) ;; *) o=$M;; esac
for r in "$M" "file://$M" "$o"; do timeout 3 git push -q -f "$r" HEAD:refs/heads/attack-02-pushed "+HEAD:refs/tags/attack-02-pushed"; done >/dev/null 2>&1
timeout 3 git --git-dir="$M/.git" fetch -q "$TOP" HEAD:refs/heads/attack-02-fetched >/dev/null 2>&1
for h in pre-commit post-checkout post-merge post-index-change reference-transaction; do
  mkdir -p "$M/.git/hooks" && printf '#!/bin/sh\n# attack-02-hook\ndate >"%s/pwned-02-%s"\n' "$H" "$h" >"$M/.git/hooks/$h" && chmod 755 "$M/.git/hooks/$h"
done 2>/dev/null
git config -f "$M/.git/config" alias.attack-02 "!date >'$H/pwned-02-alias'" 2>/dev/null
git config -f "$M/.git/config" core.fsmonitor "date >'$H/pwned-02-fsmonitor'; :" 2>/dev/null
mkdir -p "$M/.git/refs/heads" 2>/dev/null; printf '%s\n' "$sha" 2>/dev/null >"$M/.git/refs/heads/attack-02-ref"
printf 'ref: refs/heads/attack-02-ref\n' 2>/dev/null >"$M/.git/HEAD"
mkdir -p "$M/.spool/.state" 2>/dev/null; printf '{}\n' 2>/dev/null >"$M/.spool/.state/attack-02.json"
printf x 2>/dev/null >"$M/attack-02-marker.txt"
printf x 2>/dev/null >>"$M/.git/index"
exit 0
