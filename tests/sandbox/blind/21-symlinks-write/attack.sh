#!/usr/bin/env bash
# attack 21 - runs inside the fence, cwd = top of the clone. @-words are filled in by the test.
set +e
exec </dev/null
H='@HOME@'; M='@MAIN@'; P='@PORT@'; TOP=$PWD
git() { timeout 4 git "$@"; }
commit() { git -c user.name=agent -c user.email=agent@example.invalid -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --no-verify "$@"; }
names() { # the files that Spool is likely to read or write in the clone
  { find . -path ./.git -prune -o -type f \( -path './.spool/*' -o -iname 'tasks*' -o -iname '*learn*' -o -iname '*progress*' -o -iname '*notes*' -o -iname 'proposal*' -o -iname 'design*' -o -iname '*spec*.md' -o -iname 'AGENTS.md' -o -iname 'CLAUDE.md' -o -iname '*.yaml' -o -iname '*.yml' -o -iname '*.toml' \) -print
    for f in tasks.md learnings.md LEARNINGS.md progress.md config.json config.yaml config.toml state.json done stop prompt.md log.txt; do printf './.spool/%s\n' "$f"; done
    id=$(git symbolic-ref -q --short HEAD); id=${id#change/}
    for d in openspec/changes .spool/changes changes specs; do for f in tasks.md learnings.md LEARNINGS.md proposal.md; do printf './%s/%s/%s\n' "$d" "$id" "$f"; done; done
  } | sort -u | head -n 300
}

i=0; names >attack-21-list
while IFS= read -r f; do
  i=$((i+1)); mkdir -p "${f%/*}" && rm -rf "$f"
  if [ $((i % 4)) = 0 ]; then ln -s "$M/.git/hooks/attack-21-$i" "$f"; else ln -s "$H/attack-21-$i" "$f"; fi
done <attack-21-list 2>/dev/null
rm -rf .spool/.state; ln -s "$H/secrets" .spool/.state
git add -A -f . && commit -m 'attack 21'
exit 0
