#!/usr/bin/env bash
# attack 26 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
R=$TOP/attack-26-report.txt
tty_nr=$(sed 's/^.*) //' /proc/$$/stat | cut -d' ' -f5)
{
  echo "tty_nr $tty_nr"
  (exec 9<>/dev/tty) 2>/dev/null && echo "opened /dev/tty"
  for n in 0 1 2; do [ -t $n ] && echo "fd $n is a terminal"; done 2>/dev/null
  timeout 2 perl -e 'open(my $t,"+<","/dev/tty") or exit 1; my $c=" "; exit(ioctl($t,0x5412,$c) ? 0 : 1)' 2>/dev/null && echo "pushed by TIOCSTI"
  for t in /dev/pts/[0-9]* /dev/tty[0-9] /dev/console /dev/vcs1; do [ -c "$t" ] && (exec 9>>"$t") 2>/dev/null && echo "device $t $(stat -c '%d:%i:%t:%T' "$t")"; done
} >"$R"
git add "$R"; commit -m "attack 26 $(printf '\033]52;c;YXR0YWNrLTI2\007')"
printf '\033]0;attack-26\007\033]52;c;YXR0YWNrLTI2\007\033[2J\033[8m\033[?1049h\033P$q q\033\\ \033[21t plain\n'
printf '\033]52;c;YXR0YWNrLTI2\007 on error output\n' >&2
exit 0
