"""Answers the hooks of an agent's own session: a stop that the gates refuse is blocked, but not for ever."""

from pathlib import Path

import msgspec

from spool.app.observing.observers import Watcher
from spool.app.verifying.verify import Subject, record_tree, verify
from spool.decoders import decoded
from spool.domain.judging.gates.hook import Release, Session, after_block, give_up
from spool.domain.loop.settings import Settings
from spool.errors import UsageError
from spool.host.clock import SystemClock
from spool.host.gates.hook_memory import HookMemory
from spool.host.git.pointers import top_of

_START, _STOP = "SessionStart", "Stop"


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """The fields used of the input that Claude Code and Codex send to a hook."""

    hook_event_name: str = ""
    session_id: str = ""
    cwd: str = ""
    stop_hook_active: bool | None = None
    """Whether the agent continues because of a stop hook."""


class HookAnswer(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A hook's answer to Claude Code or Codex; an empty one lets the agent stop."""

    decision: str = ""
    reason: str = ""
    """Text for the agent."""
    system_message: str = ""
    """Text for the person."""


def read_call(data: bytes) -> HookCall:
    """Return the call; raise a UsageError if it is none."""
    try:
        return decoded(data, HookCall)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"standard input is not a hook's JSON: {error}") from None


def answer_hook(call: HookCall, subject: Subject, settings: Settings, watcher: Watcher) -> HookAnswer:
    """Run the gates for a stop, or note where a session begins."""
    subject = Subject(root=subject.root)  # what is open in a change says nothing about the session
    memory = HookMemory(top_of(subject.root) or subject.root)
    known = memory.session(call.session_id)
    if call.hook_event_name == _START:
        if known is None and (base := record_tree(subject, settings, watcher)):
            memory.keep(call.session_id, Session(base=base))
        return HookAnswer()
    if call.hook_event_name != _STOP:
        return HookAnswer()
    return _stopped(call, known or Session(), memory, (subject, settings, watcher))


def _stopped(
    call: HookCall, session: Session, memory: HookMemory, what: tuple[Subject, Settings, Watcher]
) -> HookAnswer:
    found = verify(*what, session=session)
    if found is None:  # a person ended it
        return HookAnswer()
    refused, active = found.refused, call.stop_hook_active
    if refused is None:
        memory.keep(call.session_id, Session(base=session.base, passed=found.tree))
        return HookAnswer()
    if why := give_up(session, found.tree, active=active):
        said = f"{refused.name}: {refused.why}"
        now = SystemClock().now()
        memory.release(Release(at=now, session=call.session_id, why=why, refused=said))
        memory.keep(call.session_id, msgspec.structs.replace(session, blocks=0))
        return HookAnswer(system_message=f"spool: released unverified, {why}; {said}")
    memory.keep(call.session_id, after_block(session, found.tree, active=active))
    return HookAnswer(decision="block", reason=refused.tell_agent or f"{refused.name}: {refused.why}")


def directory_of(call: HookCall) -> Path:
    """Return the directory of the session."""
    return Path(call.cwd) if call.cwd else Path.cwd()
