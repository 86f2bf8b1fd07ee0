"""Reads the corpus of true and false promises, and plays a case through the real pipeline."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from spool.domain.judging.promise import DEFAULT_PROMISE, PromiseReading
from spool.domain.judging.promise.reader import PromiseReader
from spool.domain.loop.outcome import Facts, Outcome, OutcomeKind, classify
from spool.engine.agent_transcript import AgentTranscript
from spool.engine.ports import Harness
from spool.harness.registry import find

FOLDER = Path(__file__).parent / "promises"
Expect = Literal["complete", "failed", "none"]


class Growth(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"piece": "with"}):
    """Says that a mark in the output stands for a piece, many times over."""

    mark: str
    piece: str
    times: int


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row: what an agent printed, and what must be read from it."""

    name: str
    source: str
    harness: Literal["command", "claude", "opencode"] = "command"
    prompt: str = ""
    promise: str = DEFAULT_PROMISE
    output: str = ""
    escaped: str = ""
    """The output as bytes, with escapes such as \\xff."""
    grow: Growth | None = None
    stderr: str = ""
    exit_code: int = 0
    changed_files: int = 1
    stopped: bool = False
    """The runner told the agent to stop before it printed this."""
    truncated: bool = False
    """Somebody cut the log while it was read."""
    expect: Expect
    reason: str = ""
    reason_starts: str = ""
    reason_limit: int = 0
    veto: str | None = ""
    """For `none`: why the promise that was seen did not count; empty if none was to be seen."""
    file: str = ""

    @property
    def id(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def is_long(self) -> bool:
        return self.grow is not None

    def raw(self) -> bytes:
        """Return the bytes that the agent printed."""
        data = self.output.encode()
        if self.escaped:
            data = self.escaped.encode("latin-1").decode("unicode_escape").encode("latin-1")
        if self.grow:
            data = data.replace(self.grow.mark.encode(), self.grow.piece.encode() * self.grow.times)
        return data


class Played(msgspec.Struct, frozen=True):
    """What came out."""

    reading: PromiseReading
    outcome: Outcome

    @property
    def verdict(self) -> Expect:
        if self.outcome.kind is OutcomeKind.COMPLETED:
            return "complete"
        return "failed" if self.outcome.kind is OutcomeKind.FAILED else "none"


@cache
def load() -> tuple[Case, ...]:
    """Return every case of every file."""
    cases: list[Case] = []
    for path in sorted(FOLDER.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        cases += [msgspec.convert({**row, "file": path.stem}, Case) for row in table.get("case", [])]
        cases += [_sentence(text, "complete", path.stem) for text in table.get("made", [])]
        cases += [_sentence(text, "none", path.stem) for text in table.get("spoken_of", [])]
    return tuple(cases)


def _sentence(text: str, expect: Expect, file: str) -> Case:
    output = "This comes before it.\n\n" + text.replace("@", f"<promise>{DEFAULT_PROMISE}</promise>") + "\n"
    return Case(name=text, source="A sentence.", output=output, expect=expect, veto=None, file=file)


def play(case: Case, pieces: Iterable[bytes], pauses: Collection[int] = ()) -> Played:
    """Feed the pieces as the engine does: decoder, transcript, reader, outcome; the agent pauses after some of them."""
    reader = PromiseReader(case.promise, prompt=case.prompt)
    transcript = AgentTranscript(_harness(case.harness).decoder(), reader, lambda _: None)
    if case.stopped:
        transcript.disbelieve("made after the agent was told to stop")
    for number, piece in enumerate(pieces):
        transcript.feed(piece)
        if number in pauses:
            transcript.pause()
            transcript.promised  # noqa: B018 - asking must change nothing
    transcript.finish(case.stderr)
    if case.truncated:
        transcript.disbelieve("the agent's output was cut while it was read")
    facts = Facts(
        exit_code=case.exit_code,
        reading=reader.finish(),
        failure=transcript.failure,
        rate_limited_retry_s=transcript.rate_limited_retry_s,
        denied=tuple(transcript.denied),
        changed_files=case.changed_files,
    )
    return Played(facts.reading, classify(facts))


def _harness(name: str) -> Harness:
    return find(name, {"command": {"argv": ["agent"]}})
