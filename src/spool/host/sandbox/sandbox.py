"""Runs the commands of a loop in a sandbox."""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from spool.domain.agent.invocation import Traits
from spool.domain.agent.sandbox_rules import SandboxRules, admits
from spool.host.sandbox import bubblewrap, srt
from spool.host.sandbox.private import PASSED, home_folder, outermost, private_folders
from spool.host.sandbox.private_home import furnish
from spool.host.sandbox.visible_programs import needs_of
from spool.nofollow import make_folder


class SandboxedCommand(NamedTuple):
    """A command inside the sandbox, with all of its environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class SandboxedPlace:
    """A sandboxed loop's folders."""

    workspace: Path
    """The clone."""
    private: Path
    """A folder beside it, for the agent's home and temporary files."""
    hidden: tuple[Path, ...] = ()
    """Folders to hide besides: the person's repository, wherever it is."""


class Sandbox:
    """The sandbox of one loop."""

    def __init__(self, sandbox: SandboxRules, ground: SandboxedPlace, traits: Traits, commands: Iterable[str]) -> None:
        """Prepare the private home, and find what the agent and the gates' commands need to run."""
        self._rules, self._ground = sandbox, ground
        self._names = (*PASSED, *traits.env_names, *sandbox.env)
        self._program = srt.find() if sandbox.hosts else bubblewrap.find()
        # srt puts a socket into its TMPDIR, and the path of a socket has at most 107 bytes.
        self._sockets = TemporaryDirectory(prefix="spool-srt-") if sandbox.hosts else None
        self._home, self._tmp = ground.private / "home", ground.private / "tmp"
        make_folder(self._tmp)
        signed_in = furnish(home_folder(), self._home, traits.settings, traits.credentials)
        private = private_folders(*ground.hidden)
        needs = needs_of([traits.program, self._program, *_words(commands)], private, whole_path=True)
        shown = {*needs.paths, *(Path(path).expanduser().absolute() for path in (*traits.needs, *sandbox.read))}
        self._view = bubblewrap.View(
            hidden=outermost(private),
            read=frozenset(path for path in shown if os.access(path, os.F_OK)),  # bubblewrap ends where it may not look
            write=frozenset({self._home, self._tmp}),
            links=needs.links,
            swapped=signed_in,
        )

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        directory: Path,
        read: Iterable[Path] = (),
        write: Iterable[Path] = (),
    ) -> SandboxedCommand:
        """Return a command inside the sandbox. In another directory than the workspace, that can only be read."""
        at_home = directory.is_relative_to(self._ground.workspace)
        view = replace(
            self._view,
            read=self._view.read | {*read} | (set() if at_home else {self._ground.workspace}),
            write=self._view.write | {*write} | {self._ground.workspace if at_home else directory},
        )
        passed = {name: value for name, value in os.environ.items() if admits(self._names, name)}
        private = {"HOME": str(self._home), "TMPDIR": str(self._tmp)}
        if self._sockets is None:
            words = bubblewrap.words_of(view, program=self._program, net=self._rules.net, directory=directory)
            return SandboxedCommand((*words, *argv), {**passed, **env, **private})
        settings = self._ground.private / "srt.json"
        view = replace(view, read=view.read | {Path(self._sockets.name)})
        words = srt.words_of(view, program=self._program, hosts=self._rules.hosts, settings=settings)
        within = ["env", *(f"{name}={value}" for name, value in private.items())]
        return SandboxedCommand((*words, *within, *argv), {**passed, **env, "TMPDIR": self._sockets.name})


def _words(commands: Iterable[str]) -> Iterator[str]:
    """Yield the words of command lines that may name programs."""
    for command in commands:
        with suppress(ValueError):  # an unbalanced quote; the shell will say so
            yield from (word for word in shlex.split(command) if not word.startswith("-"))
