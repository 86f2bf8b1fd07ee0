"""Checks a host before it takes work: a worker that cannot run its agent would delay every change."""

from functools import cache

from spool.app.machine.sign_in import sign_in_of
from spool.app.starting.construction import find_harness
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.agent.invocation import Traits
from spool.domain.agent.sign_in import SignInState
from spool.domain.loop.settings import Settings
from spool.errors import Hint, SpoolError, UsageError
from spool.host.sandbox import bubblewrap


class CannotRun(SpoolError):
    """The change cannot run on this host: its agent is not installed, for example."""


def check_host(*, sandbox: bool) -> str:
    """Return the agent of this user's settings; raise a UsageError if it cannot work here, sandboxed if that is asked.

    Changes that name another agent are offered to other workers if this host does not have it.
    """
    harness = find_harness(resolve_settings(None).settings)
    if not _may_be_signed_in(harness.traits):
        raise UsageError(_not_signed_in(harness.name), hint=Hint.FLEET_AGENT)
    if sandbox:
        bubblewrap.find()
    return harness.name


def check_agent(settings: Settings) -> None:
    """Raise CannotRun if the agent of a change is not installed here, or not signed in."""
    try:
        harness = find_harness(settings)
    except SpoolError as error:
        raise CannotRun(str(error)) from None
    _require_sign_in(harness.name, harness.traits)


@cache  # what raises is not kept: somebody may sign in while the worker runs
def _require_sign_in(name: str, traits: Traits) -> None:
    if not _may_be_signed_in(traits):
        raise CannotRun(_not_signed_in(name))


def _may_be_signed_in(traits: Traits) -> bool:
    return sign_in_of(traits).answer is not SignInState.NO


def _not_signed_in(name: str) -> str:
    return f"{name} is not signed in on this host"
