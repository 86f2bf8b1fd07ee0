"""What the plan of `spool run` remembers of an attempt. Pure."""

import msgspec

from spool.domain.judging.gates.findings import evidence
from spool.domain.judging.gates.gate import proof_together
from spool.domain.loop.plan_memory import Due, StoryMemory
from spool.domain.loop.state import IterationRecord
from spool.domain.loop.verdict import NextStory, Retry, Verdict


def remember(memory: StoryMemory, verdict: Verdict, record: IterationRecord) -> StoryMemory:
    """Return the memory for the next attempt. The change is proved only if each of its stories is."""
    match verdict:
        case NextStory():
            return msgspec.structs.replace(
                memory,
                due=Due.ACCEPT,
                accepted=record.proof,
                proof=proof_together(memory.proof, record.proof),
                evidence=evidence(record.gates),
                base=record.checked_tree or memory.base,
            )
        case Retry() if memory.due is not Due.NOTHING:  # a command failed while this was done: retry only that
            return msgspec.structs.replace(memory, retries=verdict.retry)
        case Retry():
            return msgspec.structs.replace(
                memory,
                retries=verdict.retry,
                own_words=verdict.own_words,
                refusal=verdict.refusal,
                due=Due.KEEP if verdict.keep else Due.REVERT,
            )
        case _:
            return memory
