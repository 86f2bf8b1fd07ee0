#!/usr/bin/env bash
# attack 28 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
R=$TOP/attack-28-report.txt
timeout 5 perl -MSocket -e '
  my $h=shift; my @p=grep {defined} ($ENV{SSH_AUTH_SOCK}, ($ENV{DOCKER_HOST}//"")=~m,^unix://(.*),, ($ENV{DBUS_SESSION_BUS_ADDRESS}//"")=~m,path=([^\,;]+),);
  push @p, glob($_) for qw(/run/docker.sock /var/run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock /run/crio/crio.sock /run/dbus/system_bus_socket
    /run/systemd/private /run/systemd/io.system.ManagedOOM /run/snapd.socket /run/cups/cups.sock /run/libvirt/libvirt-sock /var/lib/lxd/unix.socket
    /run/user/*/bus /run/user/*/systemd/private /run/user/*/wayland-* /run/user/*/keyring/* /run/user/*/gnupg/S.* /run/user/*/podman/podman.sock /run/user/*/docker.sock
    /run/user/*/pulse/native /run/user/*/pipewire-* /run/user/*/*agent* /tmp/.X11-unix/X* /tmp/ssh-*/agent.* /tmp/dbus-*);
  push @p, split /\n/, `timeout 2 find "$h" -xdev -type s 2>/dev/null`;
  my %s; for my $p (grep {!$s{$_}++} @p) { next unless -S $p; my @st=stat $p;
    for my $t (SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM) { socket(my $k, AF_UNIX, $t, 0) or next; if (connect($k, pack_sockaddr_un($p))) { print "reached $st[0]:$st[1] $p\n"; last } } }' "$H" >"$R" 2>/dev/null
timeout 2 systemd-run --user --collect --quiet sh -c "date >'$H/pwned-28-systemd'" >/dev/null 2>&1
git add "$R"; commit -m 'attack 28'
exit 0
