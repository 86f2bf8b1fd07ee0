"""Decides whether the settings of a repository count: only what the person has trusted may run or widen anything."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from spool.app.starting.effective_settings import resolve_settings
from spool.domain.loop.settings import Resolved
from spool.errors import Hint, Untrusted, UsageError
from spool.harness.registry import AGENTS
from spool.host.state.trust_record import hash_of, read_grant, remove_grant, trusted_path, write_grant

_RUN_ID = "SPOOL_RUN_ID"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A value of the repository that needs trust."""

    name: str
    value: Any
    trusted: bool


class TrustReport(msgspec.Struct, frozen=True, kw_only=True):
    """A repository's settings, trusted and untrusted."""

    root: str
    asked: tuple[Asked, ...]
    by_path: bool = False
    """Whether SPOOL_TRUSTED_PATHS trusts everything here."""

    @property
    def untrusted(self) -> dict[str, Any]:
        """The values that do not count yet."""
        return {one.name: one.value for one in self.asked if not one.trusted}


def trust_report(root: Path, resolved: Resolved | None = None) -> TrustReport:
    """Return what the repository around a directory asks for; without `resolved`, with no flags."""
    asked = _asked(resolved or resolve_settings(root))
    by_path = trusted_path(root, os.environ)
    grant = read_grant(root) if asked else None
    known = grant.values if grant else {}
    return TrustReport(
        root=str(root),
        by_path=by_path,
        asked=tuple(
            Asked(name=name, value=value, trusted=by_path or known.get(name) == hash_of(value))
            for name, value in asked.items()
        ),
    )


def require_trust(root: Path | None, resolved: Resolved) -> Resolved:
    """Return the settings; raise Untrusted if values of the repository that need trust have none."""
    if root is not None and (missing := trust_report(root, resolved).untrusted):
        raise Untrusted(
            f"{root} asks for settings that you have not trusted: {', '.join(missing)}", hint=Hint.TRUST, values=missing
        )
    return resolved


def grant(root: Path, values: Mapping[str, Any] | None = None) -> TrustReport:
    """Trust the values that the repository asks for now, or just those given, besides the ones already trusted."""
    require_person("grant trust")
    report = trust_report(root)
    asked = {one.name: one.value for one in report.asked}
    if values is not None:
        asked = {one.name: one.value for one in report.asked if one.trusted} | dict(values)
    write_grant(root, asked, datetime.now(UTC))
    return trust_report(root)


def require_person(act: str) -> None:
    """Raise a UsageError in a process that an agent started: it cannot speak for a person."""
    if os.environ.get(_RUN_ID):
        raise UsageError(f"an agent cannot {act}", hint="ask the person who started the loop")


def withdraw(root: Path) -> bool:
    """Trust nothing of the repository around a directory any more; return whether anything was trusted."""
    require_person("withdraw trust")
    return remove_grant(root)


def _asked(resolved: Resolved) -> dict[str, Any]:
    """Return what needs trust; an agent that Spool knows by name does not."""
    return {name: value for name, value in resolved.asked.items() if not (name == "harness" and value in AGENTS)}
