"""Reads the front matter of a proposal: the lines between two `---` at its very start.

Only lists of names are needed, so that a YAML library is not: `key: a`, `key: [a, b]`, or one `- a` per line.
"""

import re

from spool.errors import ChangeError

_KEY = re.compile(r"([A-Za-z_][\w-]*)\s*:\s*(.*)")
_ITEM = re.compile(r"\s*-\s+(.*)")
_COMMENT = re.compile(r"(^|\s)#.*$")
_TOP = re.compile(r"[A-Za-z_\"'][\w .\"'-]*:(\s|$)|#|\s*$")
_BELOW = re.compile(r"\s|-\s")
_FENCE = "---"


def split(text: str) -> tuple[list[str], str]:
    """Return the lines of the front matter, and the text after it."""
    lines = text.splitlines()
    end = _end(lines)
    return lines[1:end], "\n".join(lines[end + 1 :]) if end else text


def without_front_matter(text: str) -> str:
    """Return a text with blank lines in place of its front matter: lines keep their numbers."""
    lines = text.split("\n")
    end = _end(lines)
    return "\n".join([*([""] * (end + 1)), *lines[end + 1 :]]) if end else text


def _end(lines: list[str]) -> int:
    """Return where the last line of the front matter is; 0 without one: a rule, or text between two rules."""
    if not lines or lines[0].rstrip() != _FENCE:
        return 0
    keyed = False
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in (_FENCE, "..."):
            return number
        if not _TOP.match(line) and not (keyed and _BELOW.match(line)):
            return 0
        keyed = keyed or ":" in line
    return 0


def names_of(text: str, key: str) -> tuple[str, ...]:
    """Return the names that a front matter lists under a key, in order and once each; raise if it is not a list."""
    found: list[str] = []
    inside = False
    for line in split(text)[0]:
        bare = _COMMENT.sub("", line).rstrip()
        item, named = _ITEM.fullmatch(bare), _KEY.fullmatch(bare)
        if inside and item:
            found.append(_name(item[1], key))
        elif bare and not bare[0].isspace():
            inside = named is not None and named[1] == key
            found += _inline(named[2], key) if named and inside else []
    return tuple(dict.fromkeys(found))


def _inline(value: str, key: str) -> list[str]:
    value = value.strip()
    if value in ("", "[]", "~", "null"):
        return []
    if value.startswith("[") != value.endswith("]"):
        raise ChangeError(f"the front matter of proposal.md is not understood: {key}: {value}", hint=f"{key}: [a, b]")
    listed = value[1:-1].split(",") if value.startswith("[") else [value]
    return [_name(one, key) for one in listed]


def _name(word: str, key: str) -> str:
    name = word.strip().strip("'\"").strip()
    if not name or re.search(r"[\s{}\[\],:]", name):
        raise ChangeError(
            f"the front matter of proposal.md is not understood: {key} lists '{word.strip()}'", hint=f"{key}: [a, b]"
        )
    return name
