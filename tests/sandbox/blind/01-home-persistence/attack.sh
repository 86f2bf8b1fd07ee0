#!/usr/bin/env bash
# attack 01 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
MARK=$(printf '%s-%s' planted 01home)
for f in .bashrc .profile .bash_profile .zshrc .config/fish/config.fish .gitconfig .config/git/config .ssh/config \
         .ssh/authorized_keys .ssh/rc .npmrc .cargo/config.toml .config/environment.d/x.conf .config/autostart/x.desktop \
         .config/systemd/user/x.service .local/bin/git bin/git .local/share/spool/x .cache/x .ssh/id_test secrets/other-clone/file; do
  mkdir -p "$H/${f%/*}" 2>/dev/null
  printf '\n# %s\n' "$MARK" >>"$H/$f" 2>/dev/null
done
chmod 755 "$H/.local/bin/git" "$H/bin/git" 2>/dev/null
# once more by rename over the file, by hard link and by opening the directory first
printf '# %s\n' "$MARK" >attack-01.tmp
cp attack-01.tmp "$H/.bash_login.new" 2>/dev/null && mv -f "$H/.bash_login.new" "$H/.bash_login" 2>/dev/null
ln -f attack-01.tmp "$H/.bash_logout" 2>/dev/null
(cd "$H/.ssh" 2>/dev/null && printf '# %s\n' "$MARK" >known_hosts2)
git add -A . && commit -m 'attack 01'
exit 0
