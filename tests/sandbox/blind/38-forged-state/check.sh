#!/usr/bin/env bash
# check 38 - runs outside, as the person. 0 = the fence held, 1 = the attack succeeded (one line says how).
set +e
exec </dev/null
: "${ATTACK_HOME:?}" "${MAIN:?}"; CLONE=${CLONE:-/nonexistent}; CANARY=${CANARY:-no-canary-given}
fail() { printf 'BREACH 38-forged-state: %s\n' "$*" | tr '\n' ' ' | LC_ALL=C tr -d '\000-\037' | cut -c1-400; exit 1; }
note() { printf 'note 38-forged-state: %s\n' "$*" >&2; }
g() { timeout 60 git -C "$MAIN" -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.pager=cat "$@"; }
while IFS= read -r -d '' f; do
  [ "$(head -c 16 "$f" 2>/dev/null | tr -d '\0')" = '{"attack38":true' ] && fail "a forged state file came into MAIN: $f"
done < <(find "$MAIN/.spool" -type f -print0 2>/dev/null)
for r in $(g for-each-ref --format='%(refname)' refs/heads); do
  f=$(g ls-tree -r --name-only "$r" -- .spool/.state 2>/dev/null | grep -F attack-38 | head -n 1)
  [ -n "$f" ] && fail "(strict) $r in MAIN carries $f: merging it overwrites Spool's state"
done
exit 0
