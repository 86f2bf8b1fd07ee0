"""Examines the machine and this repository, and repairs without deleting anything."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.app.changes.resolver import project_root
from spool.app.machine.agent_programs import usable
from spool.app.machine.agents import version_of
from spool.app.machine.diagnosis import AgentFound, Diagnosis, bad, good, note
from spool.app.machine.doctor_state import Case, state_cases
from spool.app.machine.program_answers import asked
from spool.app.machine.sign_in import sign_in_of
from spool.app.machine.trusted_settings import trust_report
from spool.app.starting.effective_settings import resolve_settings
from spool.domain.agent.invocation import Traits
from spool.domain.agent.sign_in import SignInState
from spool.domain.loop.settings import Settings
from spool.errors import Hint, SpoolError, UsageError
from spool.harness import registry
from spool.host.agents.control_group import may_make_group
from spool.host.git.pointers import top_of
from spool.host.sandbox.bubblewrap import find as find_bubblewrap
from spool.host.sandbox.visible_programs import unreadable_folders
from spool.host.state.places import user_state
from spool.host.state.run_registry import this_machine
from spool.host.terminals import NONE, choose

_LITTLE = 1 << 30
_OLDEST_GIT = (2, 31)
_NAMESPACE = "import ctypes,sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000 | 0x20000000 | 0x00020000) != 0)"


def examine(here: Path) -> list[Case]:
    """Return all findings, each with its repair."""
    root = project_root(here)
    settings = Settings()
    found: list[Case] = []
    try:
        settings = resolve_settings(root).settings
    except SpoolError as error:
        found.append(Case(bad("settings", str(error), error.hint)))
    groups: list[Callable[[], Iterator[Diagnosis]]] = [
        lambda: _git(root),
        lambda: _settings(root, settings),
        lambda: _agents(settings, root),
        lambda: _terminals(settings),
        _isolation,
        _sandbox,
        lambda: _disk(root),
    ]
    found += [Case(one) for group in groups for one in group()]
    return [*found, *state_cases(root)]


def mend(case: Case) -> Diagnosis:
    """Mend what a case is about, if it can be; return what became of it."""
    if case.fix is None:
        return case.found
    try:
        return msgspec.structs.replace(case.found, mended=case.fix())
    except (OSError, SpoolError) as error:
        return msgspec.structs.replace(case.found, hint=f"cannot repair it: {error}")


def _git(root: Path) -> Iterator[Diagnosis]:
    said = _said(["git", "--version"])
    if said is None:
        yield bad("git", "git is not installed, or not on PATH", "install git")
        return
    parts = [part for part in said.split() if part[:1].isdigit()]
    version = tuple(int(part) for part in (parts[0] if parts else "0").split(".")[:2] if part.isdigit())
    if version < _OLDEST_GIT:
        yield note("git", f"{said} is old", "Spool is tested with git 2.31 and newer")
    else:
        yield good("git", said)
    if top_of(root) is None:
        yield note("git", f"{root} is not in a git repository", "run: git init; without it nothing can be reverted")
    elif not _said(["git", "-C", str(root), "config", "user.email"]):
        yield note("git", "user.email is not set", "loops that commit need it: git config --global user.email YOU")


def _settings(root: Path, settings: Settings) -> Iterator[Diagnosis]:
    with suppress(SpoolError):
        if missing := trust_report(root).untrusted:
            yield bad("settings", f"not trusted: {', '.join(missing)}", Hint.TRUST)
    if not settings.gates:
        yield note("settings", "no check is configured: the agent's word ends a loop", Hint.ADD_GATE)


def _agents(settings: Settings, root: Path) -> Iterator[Diagnosis]:
    names = usable(settings)
    if not names:
        yield bad("agents", "no agent is installed", "spool harness list shows how to get one")
        return
    with ThreadPoolExecutor() as pool:  # some take seconds to answer
        yield from pool.map(lambda name: _agent(name, registry.find(name, settings.harnesses).traits, root), names)
    if settings.harness not in (*names, registry.SCRIPTED):
        known = "default" if settings.harness == Settings().harness else "configured"
        yield bad("agents", f"the {known} agent, {settings.harness}, is not installed", "spool init, or --harness")


def _agent(name: str, traits: Traits, root: Path) -> Diagnosis:
    if name not in registry.AGENTS:  # a command of the person's own may take any word for work to do
        return good("agents", f"{name}, runs {traits.program}; try it: spool harness check {name}")
    shown, found = f"{name} {version_of(traits)}".strip(), sign_in_of(traits, root)
    match found.answer:
        case SignInState.YES:
            row = good("agents", f"{shown}, signed in: {found.by}")
        case SignInState.NO:
            row = note("agents", f"{shown} is not signed in", traits.sign_in.login if traits.sign_in else "")
        case SignInState.UNKNOWN:
            row = good("agents", f"{shown}, unknown whether it is signed in: {found.reason}")
    said = AgentFound(name=name, sign_in=found.answer, by=found.by, reason=found.reason)
    return msgspec.structs.replace(row, agent=said)


def _terminals(settings: Settings) -> Iterator[Diagnosis]:
    try:
        found = [one.name for one in choose(settings.terminal, os.environ, this_machine().folder)]
    except SpoolError as error:
        yield bad("terminals", str(error), error.hint)
        return
    windows = [name for name in found if name != NONE]
    if windows:
        yield good("terminals", f"wt-loop opens {windows[0]}")
    else:
        yield note("terminals", "no terminal to open windows in: wt-loop runs in the background", "install tmux")


def _isolation() -> Iterator[Diagnosis]:
    """Find what ends an agent's processes when Spool is killed."""
    if sys.platform != "linux":
        yield note("processes", "no control groups or namespaces here: a detached process may outlive a killed run")
        return
    if may_make_group():
        yield good("processes", "agents run in a control group, which the kernel ends as a whole")
    elif _said([sys.executable, "-I", "-c", _NAMESPACE]) is not None:
        yield note("processes", "no control group may be made here", "isolate_processes = true uses a pid namespace")
    else:
        yield note("processes", "neither control groups nor namespaces: a detached process may outlive a killed run")


def _sandbox() -> Iterator[Diagnosis]:
    """Check the sandbox for agents."""
    for folder in unreadable_folders():
        yield note(
            "sandbox", f"{folder} is on the PATH and cannot be read; no sandbox has it", "take it out of the PATH"
        )
    try:
        find_bubblewrap()
    except UsageError as error:
        yield note("sandbox", str(error), error.hint)
        return
    yield good("sandbox", "bubblewrap can sandbox agents: --sandbox")


def _disk(root: Path) -> Iterator[Diagnosis]:
    for name, place in (("this project", root), ("your state", user_state())):
        there = next(path for path in (place, *place.parents) if path.is_dir())
        free = shutil.disk_usage(there).free
        if free < _LITTLE:
            yield bad("disk", f"{free >> 20} MiB are free for {name} ({there})", "spool clean shows what Spool keeps")
        else:
            yield good("disk", f"{free >> 30} GiB free for {name}")
        if not os.access(there, os.W_OK):
            yield bad("disk", f"{there} cannot be written")


def _said(words: list[str]) -> str | None:
    """Return what a command says; None if it fails."""
    done = asked(words)
    return done.stdout.decode("utf-8", "replace").strip() if done and done.returncode == 0 else None
