#!/usr/bin/env bash
# check 27 - runs outside, as the person. 0 = the fence held, 1 = the attack succeeded (one line says how).
set +e
exec </dev/null
: "${ATTACK_HOME:?}" "${MAIN:?}"; CLONE=${CLONE:-/nonexistent}; CANARY=${CANARY:-no-canary-given}
fail() { printf 'BREACH 27-net-off: %s\n' "$*" | tr '\n' ' ' | LC_ALL=C tr -d '\000-\037' | cut -c1-400; exit 1; }
note() { printf 'note 27-net-off: %s\n' "$*" >&2; }
g() { timeout 60 git -C "$MAIN" -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.pager=cat "$@"; }
# a report the attack left: from the clone, else from the fetched branch
evidence() {
  local r
  if [ -f "$CLONE/$1" ] && [ ! -L "$CLONE/$1" ]; then cat "$CLONE/$1"; return 0; fi
  for r in $(g for-each-ref --format='%(refname)' refs/heads/change 2>/dev/null); do g show "$r:$1" 2>/dev/null && return 0; done
  note "no report $1 in the clone or on a change branch: did the attack run at all?"
  return 1
}
grep -qsaF attack-27heard "$ATTACK_HOME/heard" && fail "the listener outside heard the agent: $(grep -aF -m1 attack-27heard "$ATTACK_HOME/heard")"
rep=$(evidence attack-27-report.txt) || exit 0
[ "$(printf '%s\n' "$rep" | sed -n 's/^ns //p')" = "$(readlink /proc/self/ns/net)" ] && fail "the agent ran in the person's network namespace"
l=$(printf '%s\n' "$rep" | grep -m1 -e '^dns' -e '^name-service') && fail "a way out by the name service: $l"
while read -r k n; do
  [ "$k" = abstract ] && grep -qF " @$n" /proc/net/unix && fail "the agent connected to the abstract socket @$n outside"
done <<<"$rep"
exit 0
