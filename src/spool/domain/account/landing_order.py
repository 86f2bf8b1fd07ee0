"""Decides which changes may land on a branch, in which order, and what is said of each. Pure, with a table test."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from spool.domain.change.story import RepairStory
from spool.domain.judging.gates.findings import plain
from spool.domain.judging.gates.gate import MOST_TESTS, VERIFIED, GateResult, Proof, refusal
from spool.domain.loop.start_order import Member, in_order
from spool.domain.loop.summary import SCHEMA, LoopSummary
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import one_line

MOST_TRIES = 5
"""The most rebases of a change, each checked, while the target keeps moving."""

_BOX = re.compile(rb"^(\s*(?:[-*+]|\d+[.)])\s+)\[[ xX]\]", re.MULTILINE)


class Fate(StrEnum):
    """The result for a change."""

    LANDED = "landed"
    ALREADY = "already there"
    """The target has everything that the branch has."""
    PLANNED = "would be checked"
    """It can be rebased; nothing was checked or moved, because only the plan was asked for."""
    CONFLICT = "conflict"
    RED = "red"
    """A check refuses the result."""
    HELD = "held"
    """The target cannot be moved: its working tree is not clean, or it does not stay where it is."""
    NOT_READY = "not ready"
    """The change is not finished or not verified, or what it depends on has not landed; nothing was tried."""
    FAILED = "failed"
    """Spool, or a command that it needs, failed."""
    STOPPED = "stopped"


RESULT = "refs/spool/landing/"
"""The rebased commits of a change, until its landing has ended."""
GOOD = (Fate.LANDED, Fate.ALREADY, Fate.PLANNED)
MENDABLE = (Fate.CONFLICT, Fate.RED)
"""Fates that an agent can repair."""


class Landing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last attempt to land a change."""

    schema: int = SCHEMA
    change: str
    branch: str = ""
    tip: str = ""
    """The commit of the branch."""
    onto: str
    """The branch that was to be moved."""
    fate: Fate
    why: str = ""
    base: str = ""
    """The target before."""
    commit: str = ""
    """The target after, if the change landed."""
    files: tuple[str, ...] = ()
    """Files that conflict, or that stand in the way."""
    failing: tuple[str, ...] = ()
    """Tests that refuse the result."""
    gate: str = ""
    """The check that refused it."""
    log: str = ""
    next: str = ""
    """A person's next step."""
    tries: int = 0
    repairs: int = 0
    """The number of repairs by the agent."""
    seconds: float = 0.0
    at: datetime


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A target branch that moves from one commit to another, with the working tree that has it checked out.

    It is on disk before anything moves.
    """

    schema: int = SCHEMA
    token: str
    """The content of the tree's index lock while Spool holds it."""
    change: str
    branch: str
    tip: str
    onto: str
    old: str
    new: str
    top: str = ""
    """The working tree; empty if the target is not checked out."""
    git_dir: str = ""
    """Its git directory."""
    displaced: dict[str, str] = {}
    """Untracked files of a person's that the move replaces by what they became: the blob of each."""

    @property
    def ref(self) -> str:
        """The full name of the target."""
        return f"refs/heads/{self.onto}"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A change that may land."""

    change: str
    branch: str = ""
    """Empty if there is none."""
    tip: str = ""
    loop: LoopSummary | None = None
    """Its latest loop."""
    depends_on: tuple[str, ...] = ()
    """The changes that must land first."""
    source: str = ""
    """Its format, as lists name it; empty if it is not written."""

    @property
    def finished(self) -> bool:
        """Whether its loop is done."""
        return self.loop is not None and self.loop.status is Status.DONE


class Train(msgspec.Struct, frozen=True, kw_only=True):
    """The landings of one command."""

    onto: str
    target: str = ""
    """The target's final commit."""
    landings: tuple[Landing, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if everything landed, 130 if a person stopped it, else 1."""
        fates = {landing.fate for landing in self.landings}
        return 130 if Fate.STOPPED in fates else 0 if fates <= set(GOOD) else 1


def is_same_plan(path: str, mine: bytes, landing: bytes) -> bool:
    """Whether a person's untracked file is the one that lands; in Markdown, boxes may have been ticked since."""
    if mine == landing:
        return True
    return path.endswith(".md") and _BOX.sub(rb"\1[ ]", mine) == _BOX.sub(rb"\1[ ]", landing)


def unready(candidate: Candidate, *, allow_unverified: bool) -> str:
    """Return why a change may not land; empty if it may."""
    if not candidate.branch:
        return "it has no branch"
    loop = candidate.loop
    if loop is None:
        return "" if allow_unverified else "no loop has worked on it, so nothing has verified it"
    if not candidate.finished:
        return f"its loop is {loop.status}"
    proof = loop.memory.proof or Proof.WORD
    if proof in VERIFIED or allow_unverified:
        return ""
    return f"its loop ended with {proof}: nothing has verified it"


def trained(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the changes in the order in which they land: each after what it depends on, else as given."""
    known = {one.change: one for one in candidates}
    members = [
        Member(change=one.change, depends_on=tuple(need for need in one.depends_on if need in known))
        for one in candidates
    ]
    return [known[member.change] for member in in_order(members)]


def missing_dependency(candidate: Candidate, fates: Mapping[str, Fate], unlanded: Iterable[str]) -> str:
    """Return why a change must wait for another; empty if it need not.

    `unlanded` are the changes with a branch that the target does not have.
    """
    waiting = set(unlanded)
    for need in candidate.depends_on:
        if need in fates and fates[need] not in GOOD:
            return f"it depends on {need}, which did not land"
        if need not in fates and need in waiting:
            return f"it depends on {need}, which has not landed"
    return ""


def errand_for(landing: Landing, *, commit: str, tree: str) -> RepairStory:
    """Return the story that makes a change land: `commit` is where the target is now, `tree` its tree."""
    reason = [("Why it does not land", landing.why)]
    reason += [("Files that conflict", listed(landing.files, MOST_TESTS, 300))] if landing.files else []
    reason += [("Failing tests", listed(landing.failing, MOST_TESTS, 300))] if landing.failing else []
    return RepairStory(
        title=f"Land on {landing.onto}",
        text=f"Make `{landing.branch}` ({landing.tip[:12]}) work on top of `{landing.onto}` ({commit[:12]}). "
        f"`{landing.onto}` is merged into the working tree already, and not committed: resolve what conflicts, keep "
        f"what both sides mean, and make the checks pass. Spool commits the merge.",
        details=tuple((name, plain(one_line(text, 4_000))) for name, text in reason),
        onto=commit,
        tree=tree,
    )


def listed(names: Sequence[str], most: int = 5, width: int = 100) -> str:
    """Return the first names of files or tests on one line, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(one_line(name, width) for name in names[:most]) + more


def failing_tests(gates: tuple[GateResult, ...]) -> tuple[str, ...]:
    """Return the tests for which a result is refused."""
    refused = refusal(gates)
    return (*refused.failing, *refused.vanished, *refused.skipped)[:MOST_TESTS] if refused else ()
