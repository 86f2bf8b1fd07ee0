"""A gate's definition, one run of it, and its result."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

import msgspec

from spool.domain.judging.results.model import Results

MOST_TESTS = 10
"""The number of tests that a result and a prompt name."""
DONE_COMMAND = "command"
"""The gate that a worktree loop's criterion makes."""


class BuiltInGate(StrEnum):
    """Gates without a command. They are never proof."""

    TASKS = "tasks"
    FORMAT = "openspec"
    """The check of the change's own format, named after the only program that has one."""
    GIT_CLEAN = "git-clean"


BUILT_IN = tuple(BuiltInGate)
ABOUT_CHANGE = (BuiltInGate.TASKS, BuiltInGate.FORMAT)
"""Gates that look at a change, which is gone once it is archived."""


class Proof(StrEnum):
    """The strength of a claim's evidence."""

    PROVED = "proved"
    """The gates are green, and something that fails without the change passes with it."""
    UNBROKEN = "unbroken"
    """The gates are green, or no worse than before; no test shows the change."""
    REFUSED = "refused"
    UNVERIFIABLE = "unverifiable"
    """A gate that ran before the first agent can no longer be started."""
    WORD = "agent's word"
    """Only boxes were checked, which the agent ticks itself."""


VERIFIED = (Proof.PROVED, Proof.UNBROKEN)
"""Accepted by gates."""


class GatePurpose(StrEnum):
    """Why a gate runs."""

    BASELINE = "baseline"
    BASELINE_AGAIN = "baseline-again"
    CLAIM = "claim"
    CLAIM_AGAIN = "again"
    REPLAY = "replay"
    """With the tests as they were."""
    REPLAY_AGAIN = "replay-again"
    PROOF = "proof"
    """On the old source."""
    CONTROL = "control"


BEFORE_AGENT = (GatePurpose.BASELINE, GatePurpose.BASELINE_AGAIN)
"""Runs before the first agent; no iteration counts their time."""
JUDGING = (GatePurpose.CLAIM, GatePurpose.CLAIM_AGAIN)
"""Runs whose red is bad news; on the old source, red is what proves."""


class PersonNeeded(StrEnum):
    """What a person must decide, because no rule can."""

    REWRITTEN = "rewritten tests"
    """Old tests fail with the change, and their new versions fail without it: it may be meant to change them."""
    OLD_FAILURES = "old failures"
    """Tests were red before and still are, and no test shows the change."""


class Baseline(StrEnum):
    """The reference for a gate's results."""

    TOLERANT = "tolerant"
    """Failures from before the first agent are tolerated; nothing may be worse."""
    STRICT = "strict"
    OFF = "off"


class GateSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One gate, as configured."""

    name: str
    run: str = ""
    """A command line for the shell; empty for a built-in gate."""
    timeout: float = 1_200.0
    results: str = "auto"
    """The results of single tests: `auto`, `none`, or the path of a JUnit XML file."""
    when: Literal["claim", "end"] = "claim"
    """`claim`: at each claim; `end`: once, when the whole change is claimed."""
    clean: bool = False
    """Whether to run in a fresh checkout, after `setup`."""
    setup: str = ""
    share: tuple[str, ...] = (".venv", "node_modules")
    """Ignored files that a fresh checkout borrows from the working tree."""


class GatePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The strictness of gates."""

    baseline: Baseline = Baseline.TOLERANT
    require_proof: bool = False
    allow_change: tuple[str, ...] = ()
    """Paths of tests, and of what decides about tests, that the agent may change."""
    allow_empty: bool = False
    known_failures: tuple[str, ...] = ()
    """Tests that were red before and may stay red: ids, files or patterns."""


class GateRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a gate's command."""

    exit_code: int | None = None
    """None if it timed out or could not be started."""
    trouble: str = ""
    """Why the command could not be started."""
    ended: str = ""
    """Why Spool ended it: its time, or its output."""
    duration_s: float = 0.0
    log: str = ""
    tail: str = ""
    """The last lines of its output."""
    results: Results | None = None
    changed: tuple[str, ...] = ()
    """The tracked files that it changed."""
    flaky: tuple[str, ...] = ()
    """Tests whose result differed between two runs on the same tree."""
    uncommitted: tuple[str, ...] = ()
    """At a baseline: the files that differ from HEAD."""

    @property
    def started(self) -> bool:
        """Whether the command could be started."""
        return not self.trouble

    @property
    def green(self) -> bool:
        """Whether it succeeded, by its exit code and its results."""
        sound = self.results is None or (self.results.complete and self.results.ran and not self.results.failing)
        return self.exit_code == 0 and sound and not self.changed


class GateResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one gate after a claim."""

    name: str
    passed: bool
    why: str
    """The finding, in one line."""
    tell_agent: str = ""
    """Text for the next prompt, if the gate refused."""
    hint: str = ""
    """The remedy for the refusal: a value of `errors.Hint`."""
    proof: Proof | None = None
    """The gate's contribution: proved, unbroken, unverifiable or the agent's word; None for a criterion."""
    tests: int | None = None
    """The number of tests that ran; None without results of single tests."""
    proved_by: tuple[str, ...] = ()
    """Tests that fail without the change and pass with it."""
    failing: tuple[str, ...] = ()
    """Tests that fail and refuse the claim; after a replay, those that pass only with edited tests."""
    vanished: tuple[str, ...] = ()
    """Tests of the baseline that are gone."""
    replaced: tuple[str, ...] = ()
    """Tests of the baseline that are gone, pass as they were, and have others in their place."""
    needs: PersonNeeded | None = None
    """What only a person can decide, if that is the only objection."""
    rewritten: tuple[str, ...] = ()
    """The edited files whose old tests fail with the change."""
    skipped: tuple[str, ...] = ()
    """Tests that ran at the baseline and are skipped now."""
    fixed: tuple[str, ...] = ()
    """Tests that failed at the baseline and pass now."""
    still_failing: tuple[str, ...] = ()
    """Tests that failed at the baseline and fail now, tolerated or not."""
    red_before: int = 0
    """The number of those tests."""
    flaky: tuple[str, ...] = ()
    duration_s: float = 0.0
    log: str = ""


def refusal(results: Iterable[GateResult]) -> GateResult | None:
    """Return the first gate that refused, or None."""
    return next((result for result in results if not result.passed), None)


def failing_in(results: Iterable[GateResult]) -> int:
    """Return how many tests refuse a claim, as far as they are named."""
    return sum(len(one.failing) + len(one.vanished) + len(one.skipped) for one in results)


def proof_together(earlier: Proof | None, latest: Proof | None) -> Proof | None:
    """Return what may be said of several stories together: the least that is said of one of them."""
    weakest_first = (Proof.WORD, Proof.UNBROKEN, Proof.PROVED)
    return next((proof for proof in weakest_first if proof in (earlier, latest)), latest)


def proof_of(results: tuple[GateResult, ...]) -> Proof | None:
    """Return what a claim's gates allow together; None if none of them says anything about the work."""
    said = {result.proof for result in results if result.proof is not None}
    refused = refusal(results)
    if refused is not None:
        return Proof.UNVERIFIABLE if refused.proof is Proof.UNVERIFIABLE else Proof.REFUSED
    return next((proof for proof in (Proof.PROVED, Proof.UNBROKEN, Proof.WORD) if proof in said), None)
