"""Which working tree a change id means: by its branch, or by the name of its directory."""

import msgspec


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree of a repository."""

    path: str
    branch: str | None = None
    repository: str
    """The repository's name."""
    is_main: bool = False


def branches_for(change_id: str) -> tuple[str, ...]:
    """Return the branches that a change may be on, the usual one first."""
    return f"change/{change_id}", change_id, f"feature/{change_id}"


def folders_for(change_id: str, repository: str) -> tuple[str, ...]:
    """Return the names that a change's directory may have, the one that `--create` gives first."""
    return f"{repository}-wt-{change_id}", f"{repository}-{change_id}", change_id


def gives(checkout: Checkout, change_id: str) -> bool:
    """Whether a working tree is that of a change. The main one is so only by its branch: its name is the project's."""
    if checkout.branch in branches_for(change_id):
        return True
    name = checkout.path.rstrip("/").rpartition("/")[2]
    return not checkout.is_main and name in folders_for(change_id, checkout.repository)


def id_of(checkout: Checkout) -> str | None:
    """Return the change that a working tree is for, if its name or its branch says so."""
    branch = checkout.branch or ""
    for prefix in ("change/", "feature/"):
        if branch.startswith(prefix):
            return branch.removeprefix(prefix)
    name = checkout.path.rstrip("/").rpartition("/")[2]
    for prefix in (f"{checkout.repository}-wt-", f"{checkout.repository}-"):
        if name.startswith(prefix) and not checkout.is_main:
            return name.removeprefix(prefix)
    return None if checkout.is_main else name
