"""The command line of bubblewrap: the whole file system read-only, and everything private hidden."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from spool.errors import UsageError
from spool.host.sandbox.system_calls import filter_file

_RESOLVER = Path("/etc/resolv.conf")
_SCRATCH = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - the sandbox has its own


_KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "acpi", "scsi")
"""Settings of the kernel, which root may write without any capability."""
_TRIAL_S = 20


@dataclass(frozen=True, kw_only=True)
class View:
    """The file system as a sandboxed command sees it."""

    hidden: tuple[Path, ...]
    """Folders that look empty, but for what is shown again below."""
    read: frozenset[Path]
    write: frozenset[Path]
    links: Mapping[Path, str]
    """Symbolic links to make in hidden folders."""
    swapped: Mapping[Path, Path]
    """Writable files that stand at another path inside."""


def words_of(view: View, *, program: str, net: bool, directory: Path) -> list[str]:
    """Return the words before a sandboxed command."""
    words = [
        *_launched(program),
        "--die-with-parent",
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
    ]
    words += ["--unshare-cgroup-try", "--cap-drop", "ALL", *([] if net else ["--unshare-net"])]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for name in _KERNEL:
        words += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for folder in view.hidden:
        words += ["--tmpfs", str(folder)]
    resolver = _RESOLVER.resolve()
    if net and any(resolver.is_relative_to(folder) for folder in view.hidden):
        words += ["--ro-bind-try", str(resolver), str(resolver)]
    for path in _by_depth(view.read):
        words += ["--ro-bind-try", str(path), str(path)]
    for path in _by_depth(view.write):
        words += ["--bind-try", str(path), str(path)]
    for inside, outside in view.swapped.items():
        words += ["--bind-try", str(outside), str(inside)]
    for link, target in sorted(view.links.items()):
        words += ["--symlink", target, str(link)]
    for folder in view.hidden:
        if folder not in _SCRATCH:
            words += ["--remount-ro", str(folder)]
    return [*words, "--chdir", str(directory), "--"]


def find() -> str:
    """Return bubblewrap's program; raise a UsageError if there is none, or it is not permitted to work."""
    if sys.platform != "linux":
        raise UsageError("a sandbox needs bubblewrap, which is there on Linux only", hint="use a Linux machine")
    program = shutil.which("bwrap")
    if program is None:
        raise UsageError("bubblewrap, which makes the sandbox, is not installed", hint="install the package bubblewrap")
    words = [*_launched(program), "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"]
    trial = [*words, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "/bin/true"]
    done = subprocess.run(trial, capture_output=True, timeout=_TRIAL_S, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise UsageError(
            f"bubblewrap cannot make a sandbox on this machine: {said}",
            hint="allow unprivileged user namespaces, or use a machine that does",
        )
    return program


def _launched(program: str) -> list[str]:
    """Return the words that start bubblewrap with the filter of system calls, which it reads from a descriptor."""
    return ["/bin/sh", "-c", 'exec "$@" 9<"$0"', str(filter_file()), program, "--seccomp", "9"]


def _by_depth(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: (len(path.parts), os.fsencode(path)))
