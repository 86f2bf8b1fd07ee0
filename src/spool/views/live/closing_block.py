"""The closing block of a run: totals, commits, discarded attempts, how it ended."""

from spool.domain.account.progress import LoopProgress
from spool.domain.agent.stream import Usage
from spool.domain.judging.gates.gate import Proof
from spool.domain.loop import events
from spool.domain.loop.verdict import Status
from spool.domain.text.plain_text import counted
from spool.views import words
from spool.views.live.narration import NarrationLine, narrate
from spool.views.look import PROOFS, Role

_LISTED = 3


class ClosingBlock:
    """Follows a run, and sums up what it left."""

    def __init__(self) -> None:
        self._progress = LoopProgress("")

    def see(self, event: events.Event) -> None:
        """Process an event."""
        self._progress.fold(event)

    @property
    def usage(self) -> Usage:
        """The usage so far, of the running iteration too."""
        return self._progress.usage

    def lines(self, event: events.RunEnded) -> list[NarrationLine]:
        """Return the lines of the block; the last one says how the run ended."""
        *totals, over = narrate(event, verbose=False)
        if event.status is Status.DONE and self._progress.complete:  # an end on the agent's word looks like one
            over = over._replace(role=PROOFS[self._progress.complete.proof or Proof.WORD])
        return [*totals, *(NarrationLine("--- ", text, Role.PLAIN) for text in self._left()), over]

    def _left(self) -> list[str]:
        stories = self._progress.stories.values()
        commits = tuple(name for story in stories for name in story.commits)
        failed = self._progress.timeline.commits_failed
        discarded = [one for story in stories for one in story.discarded]
        lines = [f"{counted(len(commits), 'commit')}: {words.commits(commits).partition(' ')[2]}"] if commits else []
        lines += [f"{counted(failed, 'commit')} failed"] if failed else []
        if discarded:
            older = f", {len(discarded) - _LISTED} of them older than these" if len(discarded) > _LISTED else ""
            one = "it" if len(discarded) == 1 else "one"
            lines.append(f"{counted(len(discarded), 'attempt')} discarded{older}; get {one} back with:")
            lines += [f"  {words.restore(one.name)}" for one in discarded[-_LISTED:]]
        return lines
