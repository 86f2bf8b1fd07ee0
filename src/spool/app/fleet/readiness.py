"""Checks a host before it takes work: a worker that cannot run its agent would only lose time for everybody."""

from functools import cache

from spool.app.build import find_harness
from spool.app.settings import resolve_settings
from spool.app.sign_in import sign_in_of
from spool.domain.invocation import Traits
from spool.domain.settings import Settings
from spool.domain.sign_in import Access
from spool.errors import Hint, SpoolError, UsageError
from spool.host.sandbox import bubblewrap


class CannotRun(SpoolError):
    """The change cannot run on this host: its agent is not installed, for example."""


def check_host(*, sandbox: bool) -> str:
    """Return the agent of this user's settings; raise a UsageError if it cannot work here, fenced in if that is asked.

    Changes that name another agent are offered to other workers if this host does not have it.
    """
    harness = find_harness(resolve_settings(None, {}).settings)
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
    return sign_in_of(traits).answer is not Access.NO


def _not_signed_in(name: str) -> str:
    return f"{name} is not signed in on this host"
