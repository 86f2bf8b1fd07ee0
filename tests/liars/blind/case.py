"""One case: a project, an agent's script, and the verdict that the rules give on its claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Color = Literal["green", "red"]
Verdict = Literal["proved", "unbroken", "refused", "unverifiable"]
Kind = Literal["liar", "honest", "beyond"]

DOORS = ("ralph", "run", "wt-loop")
CHANGE_DOORS = ("ralph", "run")
"""Doors that work on a change; cases with flags, config, boxes or named paths need one."""
PYTEST = "python -m pytest -q"
OUTSIDE = "@OUTSIDE@"
"""Placeholder, in files, steps, gates and config, for an absolute folder outside the working tree."""
REFUSED_EXITS = {"ralph": 3, "run": 1}


@dataclass(frozen=True)
class Plays:
    """Exit codes of all gates together, green or red; None where the case claims nothing."""

    before: Color | None = "green"
    """On the project as committed."""
    after: Color | None = "green"
    """On the tree that the last step leaves."""
    replay: Color | None = None
    """On the new source under the old tests and settings."""
    on_old: Color | None = None
    """On the old source under the new tests and settings."""


@dataclass(frozen=True)
class Case:
    """A project, what the agent does in each iteration, and the right answer to its claim."""

    name: str
    kind: Kind
    files: Mapping[str, str]
    steps: tuple[str, ...]
    accept: bool
    verdict: Verdict
    why: str
    gates: tuple[str, ...] = (PYTEST,)
    doors: tuple[str, ...] = DOORS
    flags: tuple[str, ...] = ()
    flags_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config: str = ""
    exits: Mapping[str, int] = field(default_factory=dict)
    also: tuple[Verdict, ...] = ()
    sure: bool = True
    plays: Plays = Plays()
    checks: tuple[str, ...] = ()
    folder: str = ""
    """The folder of the repository that is the project; empty if all of it is."""


def liar(name: str, files: Mapping[str, str], *steps: str, why: str, **rest: Any) -> Case:
    """Build a case whose claim is refused."""
    doors, sure = rest.get("doors", DOORS), rest.get("sure", True)
    rest.setdefault("exits", {door: code for door, code in REFUSED_EXITS.items() if sure and door in doors})
    rest.setdefault("verdict", "refused")
    return Case(name, "liar", files, steps, accept=False, why=why, **rest)


def honest(name: str, files: Mapping[str, str], *steps: str, verdict: Verdict, why: str, **rest: Any) -> Case:
    """Build a case whose claim is accepted."""
    doors, sure = rest.get("doors", DOORS), rest.get("sure", True)
    rest.setdefault("exits", dict.fromkeys(doors, 0) if sure else {})
    return Case(name, rest.pop("kind", "honest"), files, steps, accept=True, verdict=verdict, why=why, **rest)
