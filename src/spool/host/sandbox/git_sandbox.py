"""The sandbox for Spool's own git in a clone, whose git directory is the agent's: no network, and no secrets."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from spool.domain.agent.sandbox_rules import admits
from spool.host.sandbox import bubblewrap
from spool.host.sandbox.private import PASSED, outermost, private_folders
from spool.host.sandbox.visible_programs import needs_of

_OF_GIT = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_LITERAL_PATHSPECS",
    "GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
)  # fmt: skip
_SERVE = ("git-upload-pack", "--strict")
"""`--strict`: a `.git` inside the git directory, which the agent may have made, is not looked for."""


class GitSandbox:
    """Runs git where it sees a clone and the folder beside it that holds Spool's data, and writes as little as it can.

    Spool's data is writable only for a git that works on Spool's own git directory there: that one reads none of the
    agent's configuration.
    """

    def __init__(self, clone: Path, kept: Path, hidden: Path) -> None:
        self._clone, self._kept = clone, kept
        self._program = bubblewrap.find()
        private = private_folders(hidden)
        self._hidden = outermost(private)
        self._needs = needs_of(["git", self._program], private)

    def wrap(
        self, argv: Sequence[str | Path], env: Mapping[str, str], directory: Path
    ) -> tuple[Sequence[str | Path], Mapping[str, str]]:
        """Return the command that runs git inside, with nothing in its environment but what it is for."""
        # Not by --clearenv: bubblewrap's own process in the sandbox would keep the variables, for all to read.
        given = {name: value for name, value in env.items() if admits((*PASSED, *_OF_GIT), name)}
        own = Path(env.get("GIT_DIR", os.sep)).is_relative_to(self._kept)
        return [*self._words(directory, {directory, self._kept} if own else {directory}), *argv], given

    def serving(self) -> str:
        """Return the command line of `git upload-pack` for a fetch from the clone; git adds the path."""
        path = os.environ.get("PATH", os.defpath)
        return shlex.join(["env", "-i", f"PATH={path}", *self._words(self._clone, set()), *_SERVE])

    def _words(self, directory: Path, write: set[Path]) -> list[str]:
        view = bubblewrap.View(
            hidden=self._hidden,
            read=frozenset({*self._needs.paths, self._kept}),
            write=frozenset({*write, self._clone}),
            links=self._needs.links,
            swapped={},
        )
        return bubblewrap.words_of(view, program=self._program, net=False, directory=directory)
