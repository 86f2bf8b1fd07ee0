"""Names a new change: a slug from its title, and the next free number."""

import re
import unicodedata
from collections.abc import Iterable

from spool.domain.change.change import module_of

_LONGEST_SLUG = 50
_NUMBERED = re.compile(r"\d+-(\d+)(?:_.*)?")
_MODULE = re.compile(r"(\d+)(?:_.*)?")


def slug_of(title: str) -> str:
    """Return a title in kebab case, for example `add-login`; `change` if nothing of it is left."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if len(slug) > _LONGEST_SLUG:
        slug = slug[: _LONGEST_SLUG + 1].rpartition("-")[0] or slug[:_LONGEST_SLUG]
    return slug or "change"


def next_numbered(slug: str, ids: Iterable[str], modules: Iterable[str], module: int | None) -> str:
    """Return the id of a new change: the first of the next free module, or the next one of a module."""
    known = [(int(number), one) for one in ids if (number := module_of(one)) is not None]
    if module is None:
        named = [int(found[1]) for name in modules if (found := _MODULE.fullmatch(name))]
        return f"{max([*(taken for taken, _ in known), *named], default=0) + 1:03d}-01_{slug}"
    parts = [int(found[1]) for taken, one in known if taken == module and (found := _NUMBERED.fullmatch(one))]
    return f"{module:03d}-{max(parts, default=0) + 1:02d}_{slug}"


def next_named(slug: str, ids: Iterable[str]) -> str:
    """Return a free name; a number distinguishes it from a change that already has it."""
    taken, name, number = set(ids), slug, 2
    while name in taken:
        name, number = f"{slug}-{number}", number + 1
    return name
