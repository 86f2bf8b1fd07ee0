"""Encloses the commands of a loop in a fence."""

import os
import pwd
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from spool.domain.fence import Fence, admits
from spool.domain.invocation import Traits
from spool.errors import UsageError
from spool.host.sandbox import bubblewrap, srt
from spool.host.sandbox.private_home import furnish
from spool.host.sandbox.programs import needs_of
from spool.host.state.places import user_cache, user_config, user_data, user_state
from spool.nofollow import make_folder

_PASSED = (
    "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "CI",
    "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
_OF_GIT = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_LITERAL_PATHSPECS",
    "GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
)  # fmt: skip
_PRIVATE = ("/home", "/root", "/tmp", "/var/tmp", "/run", "/var/run", "/mnt", "/media")  # noqa: S108 - hidden, not used
_TRIAL_S = 20


class Enclosed(NamedTuple):
    """A command inside the fence, with all of its environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where a fenced-in loop works."""

    workspace: Path
    """The clone."""
    private: Path
    """A folder beside it, for the agent's home and temporary files."""
    hidden: tuple[Path, ...] = ()
    """Folders to hide besides: the person's repository, wherever it is."""


class Enclosure:
    """The fence of one loop."""

    def __init__(self, fence: Fence, ground: Ground, traits: Traits, commands: Iterable[str]) -> None:
        """Prepare the private home, and find what the agent and the gates' commands need to run."""
        self._fence, self._ground = fence, ground
        self._names = (*_PASSED, *traits.env_names, *fence.env)
        self._bubblewrap = find_bubblewrap()
        self._program = srt.find() if fence.hosts else self._bubblewrap
        home = Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
        self._home, self._tmp = ground.private / "home", ground.private / "tmp"
        make_folder(self._tmp)
        signed_in = furnish(home, self._home, traits.settings, traits.credentials)
        hidden = bubblewrap.outermost(
            [home, user_data(), user_state(), user_cache(), user_config(), *map(Path, _PRIVATE), *ground.hidden]
        )
        needs = needs_of(
            [traits.program, self._program, *(word for command in commands for word in _words(command))],
            os.environ.get("PATH", os.defpath),
            lambda path: any(path.is_relative_to(folder) for folder in hidden),
        )
        shown = {*needs.paths, *(Path(path).expanduser().absolute() for path in fence.read)}
        self._view = bubblewrap.View(
            hidden=hidden,
            read=frozenset(shown),
            write=frozenset({self._home, self._tmp}),
            # A link inside a folder that is shown is there already.
            links={link: to for link, to in needs.links.items() if not any(map(link.is_relative_to, shown))},
            swapped=signed_in,
        )

    def enclose(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        directory: Path,
        read: Iterable[Path] = (),
        write: Iterable[Path] = (),
    ) -> Enclosed:
        """Return a command inside the fence. In another directory than the workspace, that can only be read."""
        at_home = directory.is_relative_to(self._ground.workspace)
        view = replace(
            self._view,
            read=self._view.read | {*read} | (set() if at_home else {self._ground.workspace}),
            write=self._view.write | {*write} | {self._ground.workspace if at_home else directory},
        )
        private = {"HOME": str(self._home), "TMPDIR": str(self._tmp)}
        if self._fence.hosts:
            settings = self._ground.private / "srt.json"
            words = srt.words_of(view, program=self._program, hosts=self._fence.hosts, settings=settings)
            words += ["env", *(f"{name}={value}" for name, value in private.items())]  # it sets its own TMPDIR
        else:
            words = bubblewrap.words_of(view, program=self._program, net=self._fence.net, directory=directory)
        passed = {name: value for name, value in os.environ.items() if admits(self._names, name)}
        return Enclosed((*words, *argv), {**passed, **env, **private})

    def around_git(self, argv: Sequence[str | Path], directory: Path, kept: Path) -> Sequence[str | Path]:
        """Return Spool's own git inside the fence."""
        view = replace(self._view, write=frozenset({self._ground.workspace, kept, directory}), swapped={})
        return [*bubblewrap.words_of(view, program=self._bubblewrap, net=False, directory=directory), *argv]


class GitFence:
    """The fence for Spool's own git in a clone, whose git directory is the agent's: no network, and no secrets.

    It may write the clone, and the folder beside it that holds Spool's data, which an agent never sees.
    """

    def __init__(self, enclosure: Enclosure, kept: Path) -> None:
        self._enclosure = enclosure
        self._kept = kept

    def enclose(
        self, argv: Sequence[str | Path], env: Mapping[str, str], directory: Path
    ) -> tuple[Sequence[str | Path], Mapping[str, str]]:
        """Return the command that runs git inside, with nothing in its environment but what it is for."""
        # Not by --clearenv: bubblewrap's own process in the fence would keep the variables, for all to read.
        given = {name: value for name, value in env.items() if admits((*_PASSED, *_OF_GIT), name)}
        return self._enclosure.around_git(argv, directory, self._kept), given


def find_bubblewrap() -> str:
    """Return bubblewrap's program; raise a UsageError if there is none, or it is not permitted to work."""
    program = shutil.which("bwrap")
    if program is None:
        raise UsageError("bubblewrap, which makes the sandbox, is not installed", hint="install the package bubblewrap")
    words = [program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    trial = [*words, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "/bin/true"]
    done = subprocess.run(trial, capture_output=True, timeout=_TRIAL_S, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise UsageError(
            f"bubblewrap cannot make a sandbox on this machine: {said}",
            hint="allow unprivileged user namespaces, or use a machine that does",
        )
    return program


def _words(command: str) -> Iterator[str]:
    """Yield the words of a command line that may name programs."""
    with suppress(ValueError):  # an unbalanced quote; the shell will say so
        yield from (word for word in shlex.split(command) if not word.startswith("-"))
