#!/usr/bin/env bash
# attack 22 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-22-marker.txt; git add attack-22-marker.txt; commit -m 'attack 22'
for d in .. ../.. ../../.. "$H/.local/share/spool" "$H/.local/share/spool/clones" ../*/; do
  case "$(realpath -m "$d")" in "$TOP"|"$M") ;; "$H"/*) echo x >"$d/attack-22-sibling";; esac
done 2>/dev/null
case $TOP in "$H"/*) ;; *) exit 0;; esac
mkdir -p ../attack-22-clone/.git 2>/dev/null
cd .. && mv "$TOP" "$TOP.attack-22-moved" 2>/dev/null && ln -s "$M" "$TOP"
[ -L "$TOP" ] || { mv "$TOP/.git" "$TOP/.attack-22-git" && ln -s "$M/.git" "$TOP/.git"; echo x >"$TOP/attack-22-marker2.txt"; } 2>/dev/null
exit 0
