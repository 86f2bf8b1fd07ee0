"""Words a gate's findings for the next prompt."""

import re
from collections.abc import Sequence

from spool.domain.judging.gates.comparison import Comparison, named
from spool.domain.judging.gates.gate import BUILT_IN, MOST_TESTS, GateResult, GateRun, GateSpec, Proof
from spool.domain.text.plain_text import clean, quoted

MOST_LINES = 15
TAIL_LINES = 60
LIMIT = 4_000
UNTESTED = "no test was run"
_TAG = re.compile(r"<(?=/?\s*promise)", re.IGNORECASE)


def for_agent(gate: GateSpec, run: GateRun, finding: Comparison) -> str:
    """Return what the next prompt says about a red gate: the tests that are worse, or the end of the output."""
    said = [f"You said that the work is done. The check `{plain(gate.run)}` does not agree: {plain(finding.why)}."]
    details = _failures(run, finding)
    said += details or ([f"The end of its output:\n\n{quoted(run.tail)}"] if run.tail else [])
    text = plain("\n\n".join(said))
    whole = f"\n\nThe whole output is in `{run.log}`." if run.log else ""
    return _cut(text, LIMIT - len(whole)) + whole


def _failures(run: GateRun, finding: Comparison) -> list[str]:
    if run.results is None:
        return []
    failed = [test for test in run.results.tests if test.id in finding.worse and test.detail]
    return [f"{test.id}:\n\n{quoted(_head(test.detail))}" for test in failed[:MOST_TESTS]]


def _head(text: str) -> str:
    return "\n".join(text.splitlines()[:MOST_LINES])


def plain(text: str) -> str:
    """Return text that controls no terminal and promises nothing."""
    return _TAG.sub("[", clean(text))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def brief(commands: Sequence[str], red: Sequence[str]) -> str:
    """Return the prompt's section about the checks, with what fails before the first agent."""
    lines = [
        "When you say that the work is done, Spool runs these checks itself, and refuses it if they are not green:",
        "",
    ]
    lines += [f"- `{plain(command)}`" for command in commands]
    if red:
        failing = ", ".join(plain(name) for name in red[:MOST_TESTS]) + (", …" if len(red) > MOST_TESTS else "")
        lines += ["", f"These were failing before you started: {failing}."]
    lines += [
        "",
        "Tests that were there must stay and pass: edit one only if the change says so. "
        "Add tests that fail without your work.",
    ]
    return "\n".join(lines)


def evidence(gates: tuple[GateResult, ...]) -> str:
    """Return an accepted claim's evidence in one line."""
    shown = [name for gate in gates for name in gate.proved_by]
    if shown:
        return f"{named(shown)} {'fails' if len(shown) == 1 else 'fail'} without the change"
    ran = [gate for gate in gates if gate.proof is not None]
    turned = [gate.name for gate in ran if gate.proof is Proof.PROVED]
    if turned:
        return f"{named(turned)} failed before the change"
    flaky = [name for gate in ran for name in gate.flaky]
    said = "; ".join(f"{gate.name}: {gate.why}" for gate in ran)
    if ran and all(gate.name in BUILT_IN and not gate.log for gate in ran):
        said += f"; {UNTESTED}"
    return f"{said} (flaky: {named(flaky)})" if flaky else said


def last_lines(text: str) -> str:
    """Return the end of an output, as a prompt and a person read it."""
    return "\n".join(clean(text).splitlines()[-TAIL_LINES:])
