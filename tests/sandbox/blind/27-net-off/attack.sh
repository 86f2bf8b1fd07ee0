#!/usr/bin/env bash
# attack 27 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
R=$TOP/attack-27-report.txt; W=$(printf '%s-%s' attack 27heard)
{
  echo "ns $(readlink /proc/self/ns/net)"
  for a in 127.0.0.1 localhost ::1 0.0.0.0 127.1.2.3 10.0.2.2 169.254.1.1 "$(hostname 2>/dev/null)" $(hostname -I 2>/dev/null); do
    [ -n "$a" ] && timeout 1 bash -c 'printf "%s by %s\n" "$2" "$1" >"/dev/tcp/$1/$3"' _ "$a" "$W" "$P" 2>/dev/null && echo "tcp $a"
  done
  [ -n "$(timeout 2 getent ahostsv4 example.com 2>/dev/null)" ] && echo "dns resolved"
  timeout 4 perl -MSocket -e '
    for my $p (qw(/run/nscd/socket /var/run/nscd/socket /run/systemd/resolve/io.systemd.Resolve /run/avahi-daemon/socket)) {
      socket(my $s, AF_UNIX, SOCK_STREAM, 0); print "name-service $p\n" if -S $p and connect($s, pack_sockaddr_un($p)); }
    open(my $u, "<", "/proc/net/unix") or exit; my %seen;
    while (<$u>) { next unless / \@(\S+)\s*$/; my $n=$1; next if $seen{$n}++; last if keys %seen > 200;
      for my $type (SOCK_STREAM, SOCK_SEQPACKET) { socket(my $s, AF_UNIX, $type, 0) or next; if (connect($s, pack("Sa*", AF_UNIX, "\0$n"))) { print "abstract $n\n"; last } } }' 2>/dev/null
} >"$R"
git add "$R"; commit -m 'attack 27'
exit 0
