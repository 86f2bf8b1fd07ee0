"""The recorded output of real agents, and what the decoders make of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spool.domain.agent.stream import StreamEvent
from spool.domain.judging.promise.reader import PromiseReader
from spool.domain.loop.outcome import Facts, Outcome, classify
from spool.engine.agent_transcript import AgentTranscript
from spool.harness import registry

FOLDER = Path(__file__).parent / "transcripts"


@dataclass(frozen=True)
class Recording:
    harness: str
    scene: str

    def read(self, stream: str) -> bytes:
        path = FOLDER / self.harness / f"{self.scene}.{stream}"
        return path.read_bytes() if path.exists() else b""

    def __str__(self) -> str:
        return f"{self.harness}-{self.scene}"


RECORDINGS = [Recording(path.parent.name, path.stem) for path in sorted(FOLDER.glob("*/*.out"))]


def decode(
    recording: Recording, chunks: list[bytes], *, stderr: str | None = None, side: str | None = None
) -> tuple[Outcome, list[StreamEvent]]:
    """Run a transcript through decoder, promise reader and outcome, as the engine does."""
    events: list[StreamEvent] = []
    reader = PromiseReader()
    allow_all = recording.scene != "refused"
    decoder = registry.find(recording.harness, {}).decoder()
    transcript = AgentTranscript(decoder, reader, events.append, allow_all=allow_all)
    for chunk in chunks:
        transcript.feed(chunk)
    transcript.finish(
        recording.read("err").decode("utf-8", "replace") if stderr is None else stderr,
        recording.read("side").decode("utf-8", "replace") if side is None else side,
    )
    facts = Facts(
        exit_code=0,
        reading=reader.finish(),
        failure=transcript.failure,
        denied=tuple(transcript.denied),
        changed_files=0 if recording.scene == "refused" else 1,
        usage=transcript.usage,
    )
    return classify(facts), events
