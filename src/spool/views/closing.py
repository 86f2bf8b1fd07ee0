"""The closing block of a run: totals, commits, discarded attempts, how it ended."""

from spool.domain import events
from spool.domain.progress import LoopProgress
from spool.domain.text import counted
from spool.views import words
from spool.views.look import Role
from spool.views.narration import Told, narrate

_LISTED = 3


class Closing:
    """Follows a run, and says at its end what it left."""

    def __init__(self) -> None:
        self._progress = LoopProgress("")

    def see(self, event: events.Event) -> None:
        """Take an event into account."""
        self._progress.fold(event)

    def lines(self, event: events.RunEnded) -> list[Told]:
        """Return the lines of the block; the last one says how the run ended."""
        *totals, over = narrate(event, verbose=False)
        return [*totals, *(Told("--- ", text, Role.PLAIN) for text in self._left()), over]

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
