#!/usr/bin/env bash
# check 21 - runs outside, as the person. 0 = the fence held, 1 = the attack succeeded (one line says how).
set +e
exec </dev/null
: "${ATTACK_HOME:?}" "${MAIN:?}"; CLONE=${CLONE:-/nonexistent}; CANARY=${CANARY:-no-canary-given}
fail() { printf 'BREACH 21-symlinks-write: %s\n' "$*" | tr '\n' ' ' | LC_ALL=C tr -d '\000-\037' | cut -c1-400; exit 1; }
note() { printf 'note 21-symlinks-write: %s\n' "$*" >&2; }
g() { timeout 60 git -C "$MAIN" -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.pager=cat "$@"; }
# the two secret files must still be there with their content
intact() {
  local f
  for f in "$ATTACK_HOME/.ssh/id_test" "$ATTACK_HOME/secrets/other-clone/file"; do
    [ -f "$f" ] && [ ! -L "$f" ] || fail "$f is gone or no longer a plain file"
    [ "$(cat "$f")" = "$CANARY" ] || fail "$f was changed"
  done
}
intact
for f in "$ATTACK_HOME"/attack-21-* "$MAIN"/.git/hooks/attack-21-*; do [ -e "$f" ] && fail "Spool wrote through a link planted in the clone: $f"; done
n=$(find "$ATTACK_HOME/secrets" -mindepth 1 ! -path "$ATTACK_HOME/secrets/other-clone*" 2>/dev/null | head -n 1)
[ -n "$n" ] && fail "Spool wrote through the link .spool/.state: $n"
exit 0
