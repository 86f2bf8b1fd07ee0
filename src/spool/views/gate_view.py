"""Shows the gates while they run by hand, and what they say."""

import shutil
import sys
import textwrap
import time
from collections.abc import Iterator

from spool.domain.judging.gates.gate import GateResult, Proof
from spool.domain.judging.gates.hook import Release, Verification
from spool.domain.loop import events
from spool.domain.text.plain_text import counted, one_line
from spool.views import words
from spool.views.live.estimates import Estimate
from spool.views.look import PROOFS, Role
from spool.views.say import rewrite_line, say
from spool.views.tables import room

_Line = tuple[int, str, Role]
"""Indent, text, colour."""


class CheckLine:
    """One line on a terminal's standard error with the gate that runs and its time; elsewhere a line per gate."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._doing = ""
        self._since = time.monotonic()
        self._estimate = Estimate()

    def see(self, event: events.Event) -> None:
        """Note the gate that starts."""
        if isinstance(event, events.GateStarted) and not self._quiet:
            self._doing, self._since = words.checking(event), time.monotonic()
            self._estimate = Estimate(expected_s=event.expected_s)
            if not self._live:
                say(self._doing, err=True)
        self.tick()

    def tick(self) -> None:
        """Update the time."""
        if self._live and self._doing:
            elapsed_s = time.monotonic() - self._since
            bar = self._estimate.words(elapsed_s)
            text = f"{f'{bar} · ' if bar else ''}{self._doing}, {words.duration(elapsed_s)}"
            rewrite_line(one_line(text, max(20, shutil.get_terminal_size().columns - 1)))

    def close(self) -> None:
        """Remove the line."""
        if self._live and self._doing:
            rewrite_line("")


def show_verification(found: Verification) -> None:
    """Print what the gates say."""
    width = room()
    for indent, text, role in _lines(found):
        for line in textwrap.wrap(
            text, max(20, width - indent), break_on_hyphens=False, subsequent_indent="  ", break_long_words=True
        ):
            say(" " * indent + line, colour=role.colour)


def markdown(found: Verification) -> str:
    """Return what the gates say as Markdown, for a pull request."""
    lines = [f"**{one_line(_verdict(found), 400)}**", "", f"Compared with {found.since or 'nothing'}.", ""]
    for gate in found.gates:
        lines.append(f"- {'✓' if gate.passed else '✗'} `{one_line(gate.name, 200)}`: {one_line(gate.why, 400)}")
        for what, names in _details(gate):
            lines += [f"  - {what}: `{one_line(name, 300)}`" for name in names]
    return "\n".join(lines)


def _lines(found: Verification) -> Iterator[_Line]:
    if found.released:
        yield 0, _release(found.released), PROOFS[Proof.UNVERIFIABLE]
    yield 0, f"compared with {found.since}" if found.since else "nothing to compare with", Role.PLAIN
    for gate in found.gates:
        yield from _gate(gate)
    if found.left:
        yield 0, f"left in the working tree: {_names(found.left)}", Role.PLAIN
    yield 0, _verdict(found), PROOFS[found.proof]


def _gate(gate: GateResult) -> Iterator[_Line]:
    tests = f", {counted(gate.tests, 'test')}" if gate.tests is not None else ""
    took = f", {words.duration(gate.duration_s)}" if gate.duration_s else ""
    state, role = ("green", Role.GOOD) if gate.passed else ("red", Role.BAD)
    if gate.passed and gate.red_before:
        state, role = f"red before and now: {counted(gate.red_before, 'test')}", Role.WARN
    elif gate.why == "not run":
        state, role = gate.why, Role.PLAIN
    yield 0, one_line(f"{state}: {gate.name}{tests}{took}", 400), role
    if state != "not run":
        yield 4, one_line(gate.why, 400), Role.PLAIN
    for what, names in _details(gate):
        for name in names:
            yield 4, one_line(f"{what}: {name}", 400), Role.PLAIN
    if gate.log and not gate.passed:
        yield 4, f"log: {gate.log}", Role.PLAIN


def _details(gate: GateResult) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the tests that a result names, by what became of them."""
    return (
        ("newly failing", tuple(name for name in gate.failing if name not in gate.still_failing)),
        ("red before and now", gate.still_failing),
        ("vanished", gate.vanished),
        ("replaced", gate.replaced),
        ("skipped", gate.skipped),
        ("fixed", gate.fixed),
        ("fails without the change", gate.proved_by if not gate.fixed else ()),
        ("flaky", gate.flaky),
    )


def _verdict(found: Verification) -> str:
    refused = found.refused
    if refused is None and (old := sum(gate.red_before for gate in found.gates)):
        return f"{found.proof}; red before and now: {counted(old, 'test')}, which only --baseline strict refuses"
    if refused is None:
        return f"{found.proof}"
    return one_line(f"{found.proof}: {refused.name}: {refused.why}", 400)


def _release(release: Release) -> str:
    when = f"{release.at:%Y-%m-%d %H:%M} UTC"
    return one_line(f"a session's stop was released unverified, {when}: {release.why}; {release.refused}", 400)


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(one_line(name, 80) for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
