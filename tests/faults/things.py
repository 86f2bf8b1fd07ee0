"""Puts things that are no files in the place of each file that Spool keeps, and runs commands beside them.

Each command runs in a fork of one warm process. Prints one line of JSON per command.
"""

import importlib
import json
import os
import pkgutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import spool
from spool.cli.edge import run
from spool.cli.main import spool as spool_command

HANG_S = 60.0
SPARSE = 10 << 30
LOADED = ("spool.cli.", "spool.views.", "spool.app.", "spool.host.", "spool.sources.")
LEFT_OUT = (
    "spool.fleet",
    "spool.app.observing.telemetry",
    "spool.app.observing.delivery_process",
    "spool.cli.child",
    "spool.cli.commands.web",
)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    os.chdir(path.parent)  # a socket's address is at most 108 bytes
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def terminal(path: Path) -> None:
    path.symlink_to("/dev/ptmx")


def folder(path: Path) -> None:
    path.mkdir()


def looped(path: Path) -> None:
    path.symlink_to(path.name)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE)


KINDS: dict[str, Callable[[Path], None]] = {
    one.__name__: one for one in (fifo, unix_socket, device, terminal, folder, looped, sparse)
}


@contextmanager
def instead(path: Path, kind: str) -> Iterator[None]:
    """Put a thing in the place of a file for a while; `growing` appends to it as fast as it can."""
    kept = path.with_name(f".kept-{path.name}")
    path.rename(kept)
    over = threading.Event()
    writer = threading.Thread(target=grow, args=(path, over))
    try:
        if kind == "growing":
            writer.start()
        else:
            KINDS[kind](path)
        yield
    finally:
        over.set()
        if kind == "growing":
            writer.join()
        with suppress(FileNotFoundError):
            path.rmdir() if kind == "folder" else path.unlink()
        kept.replace(path)


def grow(path: Path, over: threading.Event) -> None:
    piece = b"x" * (1 << 20)
    while not over.is_set():
        with path.open("ab") as file:
            for _ in range(16):
                file.write(piece)
            if file.tell() > SPARSE >> 4:
                file.truncate(0)


def play(words: list[str], root: str, output: Path) -> tuple[int | None, float]:
    """Run a command in a fork; return its exit code, None if it hangs, and the processor time that it took."""
    pid = os.fork()
    if not pid:
        code = 70
        try:
            os.chdir(root)
            said = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for source, target in ((nothing, 0), (said, 1), (said, 2)):
                os.dup2(source, target)
            sys.argv = ["spool", *words]
            code = run(spool_command, "spool")
            sys.stdout.flush()
        finally:
            os._exit(code)
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None, HANG_S


def load() -> None:
    """Import what the commands use, so that the forks need not."""
    for found in pkgutil.walk_packages(spool.__path__, "spool."):
        if found.name.startswith(LOADED) and not found.name.startswith(LEFT_OUT):
            importlib.import_module(found.name)


def main() -> None:
    load()
    about = json.load(sys.stdin)
    output = Path(about["output"])
    for kind, name, words in about["plays"]:
        with instead(Path(name), kind):
            code, took_s = play(words, about["root"], output)
        said = output.read_bytes()[-2_000:].decode("utf-8", "replace")
        print(json.dumps([kind, name, words, code, took_s, said]), flush=True)


if __name__ == "__main__":
    main()
