"""Prepares a run of the story that repairs a change which does not land."""

import msgspec

from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.state import LoopState
from spool.host.git.merging import begin_merge
from spool.host.git.repository import NoRepository, Repository


async def begin_errand(spec: LoopSpec, repository: Repository | NoRepository) -> None:
    """Merge the target into the working tree, unless an earlier run has; the agent resolves what conflicts."""
    if spec.errand is not None and isinstance(repository, Repository):
        await begin_merge(repository, spec.errand.onto, timeout_s=spec.settings.command_timeout)


def on_errand(spec: LoopSpec, state: LoopState) -> LoopState:
    """Return the state of a run whose checks compare with the target, not with where the change began."""
    if spec.errand is None:
        return state
    memory = msgspec.structs.replace(state.memory, base=spec.errand.tree, left="", proof=None)
    return msgspec.structs.replace(state, memory=memory)
