"""Names the files of a person's that an agent deleted, emptied or overwrote, once, when it happens."""

import msgspec

from spool.domain.loop.checkpoint import Losses
from spool.domain.loop.events import Warned
from spool.domain.text.plain_text import counted
from spool.engine.ports import Emit, KeptBeginnings
from spool.errors import CommandTimeout, Hint, SpoolError

_NAMED = 5


class LossReport:
    """Emits what is lost since the beginning and has not been named yet."""

    def __init__(self, beginnings: KeptBeginnings, emit: Emit, *, own: tuple[str, ...] = ()) -> None:
        self.beginnings = beginnings
        self._emit = emit
        self._own = own
        """Where the change's own files are: agents tick their boxes, so that these change says nothing."""
        self._known = Losses()

    async def look(self) -> None:
        """Compare the tree with the beginning; a git that fails costs a warning, one that hangs is an error."""
        try:
            found = await self.beginnings.losses()
        except CommandTimeout:
            raise
        except SpoolError as error:
            self._emit(Warned(message=str(error), hint=error.hint))
            return
        overwritten = tuple(name for name in found.overwritten if not name.startswith(self._own))
        found = msgspec.structs.replace(found, overwritten=overwritten)
        new, self._known = found.beyond(self._known), found
        for warning in warnings_of(new):
            self._emit(warning)

    def forget(self) -> None:
        """Name everything anew: the tree was reverted."""
        self._known = Losses()


def not_kept(error: SpoolError) -> Warned:
    """Return the warning of a loop whose tree cannot be saved."""
    return Warned(message=f"the tree before this run is not saved, and cannot be brought back: {error}")


def warnings_of(found: Losses) -> list[Warned]:
    """Return a line for each file that is gone, and one for all that were overwritten."""
    named = [f"the agent deleted {name}, which is not in git" for name in found.deleted]
    named += [f"the agent emptied {name}, whose content is not in git" for name in found.emptied]
    if len(named) > _NAMED:
        more = counted(len(named) - _NAMED + 1, "more file")
        named[_NAMED - 1 :] = [f"the agent deleted or emptied {more}, whose content is not in git"]
    if found.overwritten:
        files = counted(len(found.overwritten), "file")
        named.append(f"the agent overwrote the content of {files}, which is not in git")
    warnings = [Warned(message=message, hint=Hint.UNDO) for message in named]
    if found.unsaved:
        first = ", ".join(found.unsaved[:_NAMED])
        rest = f" and {len(found.unsaved) - _NAMED} more" if len(found.unsaved) > _NAMED else ""
        warnings.append(Warned(message=f"the agent deleted {first}{rest}; not saved, not recoverable"))
    return warnings
