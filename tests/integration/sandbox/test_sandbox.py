"""What a command inside the sandbox sees, and what it cannot do. Each test is an attempt that has to fail."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from spool.domain.agent.invocation import Traits
from spool.domain.agent.sandbox_rules import SandboxRules
from spool.host.sandbox.git_sandbox import GitSandbox
from spool.host.sandbox.sandbox import Sandbox, SandboxedPlace
from tests.support import PATIENCE_S, PYTHON, wait_for
from tests.support.sandboxed import needs_a_sandbox

pytestmark = needs_a_sandbox
SECRET = "a-private-key"
OPEN = SandboxRules()


def working_in(folder: Path) -> list[str]:
    """Return the processes whose working directory is a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and entry.joinpath("cwd").readlink() == folder:
                found.append(entry.name)
    return found


class Yard:
    """A person's home and repository, a clone, and another change's clone."""

    def __init__(self, base: Path) -> None:
        self.home = base / "the home"
        self.main = base / "outside" / "project"
        self.clone = base / "data" / "clones" / "one" / "project"
        self.other = base / "data" / "clones" / "two" / "project"
        self.private = self.clone.parent / "private"
        for folder in (self.home / ".ssh", self.home / ".agent", self.main, self.clone, self.other):
            folder.mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text(SECRET)
        (self.other / "file").write_text(SECRET)
        (self.main / ".env").write_text(SECRET)
        self.traits = Traits(
            program="sh",
            install="",
            settings=(".agent/settings",),
            credentials=(".agent/token",),
            env_names=("AGENT_*",),
        )

    def sandbox(self, sandbox: SandboxRules = OPEN, commands: Sequence[str] = ()) -> Sandbox:
        ground = SandboxedPlace(workspace=self.clone, private=self.private, hidden=(self.main,))
        return Sandbox(sandbox, ground, self.traits, commands)

    def run(self, script: str, sandbox: SandboxRules = OPEN, **how: Any) -> subprocess.CompletedProcess[str]:
        """Run a shell script inside the sandbox, in the clone."""
        argv, env = self.sandbox(sandbox).wrap(["sh", "-c", script], {}, directory=self.clone, **how)
        return subprocess.run(
            argv, env=env, cwd=self.clone, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    made = Yard(tmp_path.resolve())
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent.sock"))
    return made


@pytest.mark.parametrize("path", ["{home}/.ssh/id", "{other}/file", "{main}/.env", "/proc/1/root{home}/.ssh/id"])
def test_private_files_cannot_be_read(yard: Yard, path: str) -> None:
    done = yard.run(f"cat '{path.format(**vars(yard))}'")
    assert done.returncode != 0
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "path", ["{home}/.bashrc", "{main}/.git-hook", "/etc/planted", "/usr/bin/planted", "{other}/x"]
)
def test_nothing_outside_can_be_written(yard: Yard, path: str) -> None:
    target = Path(path.format(**vars(yard)))
    yard.run(f"mkdir -p '{target.parent}'; echo x > '{target}'")
    assert not target.exists()


def test_the_clone_the_home_and_temporary_files_can_be_written(yard: Yard) -> None:
    done = yard.run('echo 1 > made && echo 2 > "$HOME/x" && echo 3 > "$TMPDIR/y" && echo 4 > /tmp/z && cat "$HOME/x"')
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert (yard.clone / "made").read_text() == "1\n"
    assert not (yard.home / "x").exists()
    assert not Path("/tmp/z").exists()


def test_the_environment_is_what_was_allowed(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "for the agent")
    monkeypatch.setenv("MORE_1", "asked for")
    seen = yard.run("env; cat /proc/1/environ", SandboxRules(env=("MORE_*",))).stdout
    assert "AGENT_KEY=for the agent" in seen and "MORE_1=asked for" in seen
    assert SECRET not in seen and "SSH_AUTH_SOCK" not in seen


def test_processes_outside_are_neither_seen_nor_signalled(yard: Yard) -> None:
    outside = subprocess.Popen(["sleep", "600"])
    try:
        done = yard.run(f"kill -9 {outside.pid}; kill -9 -1; ls /proc | grep -c '^[0-9]'")
        assert outside.poll() is None
        assert int(done.stdout or "1") < 6
    finally:
        outside.kill()
        outside.wait()


def test_nothing_outlives_the_fence(yard: Yard) -> None:
    spinning = "while :; do date > alive; sleep 0.05; done"
    yard.run(f"(setsid sh -c '{spinning}' >/dev/null 2>&1 &) ; while ! test -e alive; do sleep 0.05; done")
    assert (yard.clone / "alive").exists()
    wait_for(lambda: not working_in(yard.clone))  # the kernel takes a moment to end a namespace


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """Listen on loopback, and keep what arrives."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(100) or b"(nothing)")

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("net", [True, False])
def test_the_network_is_on_or_off(yard: Yard, listener: tuple[int, list[bytes]], net: bool) -> None:
    port, heard = listener
    call = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5).sendall(b'hello')"
    done = yard.run(f'python3 -c "{call}"', SandboxRules(net=net))
    assert (done.returncode == 0) is net, done.stderr
    if net:
        wait_for(lambda: heard, "what was sent, which a thread takes")
    assert bool(heard) is net


def test_sockets_of_the_desktop_are_not_there(yard: Yard) -> None:
    done = yard.run("ls /run /var/run /tmp; ls -d /run/docker.sock /run/dbus /tmp/.X11-unix")
    assert done.returncode != 0
    assert done.stdout.split() == ["/run:", "/tmp:", "/var/run:"] or "sock" not in done.stdout


def test_links_out_of_the_clone_lead_nowhere(yard: Yard) -> None:
    (yard.clone / "way").symlink_to(yard.home / ".ssh")
    assert yard.run("cat way/id; ln -s /etc/passwd w; echo x >> w").returncode != 0


def test_programs_in_the_home_run(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent from npm is a link into node_modules; a script names an interpreter that is a link itself."""
    modules = yard.home / ".cache" / "tools" / "node_modules"
    (modules / "tool" / "lib").mkdir(parents=True)
    (modules / "tool" / "lib" / "words").write_text("from its own folder\n")
    real = modules / "tool" / "main"
    interpreter = yard.home / "bin" / "interpreter"
    interpreter.parent.mkdir()
    interpreter.symlink_to(shutil.which("sh") or "/bin/sh")
    real.write_text('#!/usr/bin/env interpreter\ncat "$(dirname "$(readlink -f "$0")")/lib/words"\n')
    real.chmod(0o755)
    binaries = yard.home / ".local" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "tool").symlink_to(real)
    (yard.home / ".local" / "share").mkdir()
    (yard.home / ".local" / "share" / "keyring").write_text(SECRET)
    monkeypatch.setenv("PATH", f"{binaries}:{interpreter.parent}:{os.environ['PATH']}")
    done = yard.run(f"tool; cat '{yard.home}/.local/share/keyring'")
    assert done.stdout == "from its own folder\n", done.stderr


def test_a_script_that_pip_installed_into_a_path_with_a_space_runs(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first line cannot name that interpreter: its second one does."""
    binaries, interpreter = yard.home / "bin", yard.home / "a path" / "bin" / "python"
    binaries.mkdir()
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(shutil.which("python3") or sys.executable)
    tool = binaries / "tool"
    tool.write_text(f"""#!/bin/sh\n'''exec' "{interpreter}" "$0" "$@"\n' '''\nprint("ran")\n""")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
    done = yard.run("tool")
    assert done.stdout == "ran\n", done.stderr


@pytest.mark.parametrize("where", ["the home", "the repository", "above the home", "a prefix"])
def test_a_private_folder_on_the_path_is_not_shown(yard: Yard, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    (yard.home / "lib" / "python3.11").mkdir(parents=True)  # as `pip install --prefix ~` makes it
    (yard.home / "bin").mkdir()
    shown = {
        "the home": yard.home,
        "the repository": yard.main,
        "above the home": yard.home.parent,
        "a prefix": yard.home / "bin",
    }
    tool = shown[where] / "tool"
    tool.write_text("#!/bin/sh\necho a tool\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    done = yard.run(f"tool; cat '{yard.home}/.ssh/id' '{yard.main}/.env' '{yard.other}/file'")
    assert done.stdout == "a tool\n", done.stderr


_SOCKETS = """
import errno, socket
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
    socket.socket(family).close()
for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG):
    try:
        socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        assert error.errno == errno.EAFNOSUPPORT, error
    else:
        raise SystemExit(f"{family!r} was opened")
print("ok")
"""


@pytest.mark.parametrize("net", [True, False])
def test_only_sockets_that_a_namespace_holds_can_be_opened(yard: Yard, net: bool) -> None:
    done = yard.run(f"python3 -c '{_SOCKETS}'", SandboxRules(net=net))
    assert done.stdout == "ok\n", done.stderr


_KEYS = """
import ctypes, os, subprocess, sys
CALLS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[os.uname().machine]
libc = ctypes.CDLL(None)
def session():
    found = ctypes.create_string_buffer(64)
    return found.raw[: max(0, libc.syscall(CALLS[2], 11, -3, found, 64))]
if sys.argv[1:] != ["look"]:
    libc.syscall(CALLS[2], 1, b"of-a-person")
    libc.syscall(CALLS[0], b"user", b"ticket", b"secret", 6, -3)
    assert session()
"""
_LOOK = f"{_KEYS}\nprint('keys' if session() else 'none')\n"


@pytest.mark.skipif(os.uname().machine not in ("x86_64", "aarch64"), reason="the numbers of its calls are not known")
def test_the_keys_of_the_session_stay_outside(yard: Yard) -> None:
    words, env = yard.sandbox().wrap(["python3", "-c", _LOOK, "look"], {}, directory=yard.clone)
    inside = f"sys.stdout.flush(); os.chdir({str(yard.clone)!r}); os.execve({words[0]!r}, {words!r}, {env!r})"
    done = subprocess.run([sys.executable, "-c", f"{_KEYS}\n{inside}"], capture_output=True, text=True, check=False)
    assert done.stdout == "none\n", done.stderr
    leaving = "from spool.host.agents.sandboxed_child import leave_session_keys; leave_session_keys()"
    left = f"{_KEYS}\n{leaving}\nprint('keys' if session() else 'none')"
    done = subprocess.run([sys.executable, "-c", left], capture_output=True, text=True, check=False)
    assert done.stdout == "none\n", done.stderr


def test_this_python_runs_wherever_it_is_installed(yard: Yard) -> None:
    argv, env = yard.sandbox(commands=[f"{PYTHON} -m pytest"]).wrap(
        [sys.executable, "-c", "import ssl, msgspec; print('ok')"], {}, directory=yard.clone
    )
    done = subprocess.run(argv, env=env, cwd=yard.clone, capture_output=True, text=True, check=False)
    assert done.stdout == "ok\n", done.stderr


def test_a_virtual_environment_in_the_home_has_its_packages(yard: Yard) -> None:
    """Its python is a link to another installation; what is installed is here."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", yard.home / "venv"], check=True)
    packages = next((yard.home / "venv" / "lib").glob("python3*")) / "site-packages"
    (packages / "mine.py").write_text("print('ok')")
    python = str(yard.home / "venv" / "bin" / "python")
    words = [python, "-m", "mine"]
    argv, env = yard.sandbox(commands=[shlex.join(words)]).wrap(words, {}, directory=yard.clone)
    done = subprocess.run(argv, env=env, cwd=yard.clone, capture_output=True, text=True, check=False)
    assert done.stdout == "ok\n", done.stderr


def test_the_agent_gets_a_copy_of_its_settings_and_its_own_sign_in(yard: Yard) -> None:
    (yard.home / ".agent" / "settings").write_text("mine")
    (yard.home / ".agent" / "token").write_text("old")
    (yard.home / ".agent" / "history").write_text(SECRET)
    done = yard.run(
        'cd "$HOME/.agent" && cat settings token && ls -A && echo hook > settings && echo new > token && echo 1 > more'
    )
    assert done.stdout == "mineoldsettings\ntoken\n", done.stderr
    assert (yard.home / ".agent" / "settings").read_text() == "mine"
    assert (yard.home / ".agent" / "token").read_text() == "new\n"
    assert yard.run('cat "$HOME/.agent/settings"; ls -A "$HOME/.agent"').stdout == "minesettings\ntoken\n"


def test_more_paths_can_be_shown(yard: Yard) -> None:
    (yard.home / "data").mkdir()
    (yard.home / "data" / "set").write_text("numbers")
    done = yard.run(f"cat '{yard.home}/data/set'; echo x > '{yard.home}/data/set'", SandboxRules(read=("~/data",)))
    assert done.stdout == "numbers"
    assert (yard.home / "data" / "set").read_text() == "numbers"


def test_elsewhere_the_clone_can_only_be_read(yard: Yard, tmp_path: Path) -> None:
    checkout = tmp_path / "cache" / "checkout"
    checkout.mkdir(parents=True)
    script = f"echo 1 > here; cat '{yard.clone}/file'; echo 2 > '{yard.clone}/file'"
    (yard.clone / "file").write_text("work")
    argv, env = yard.sandbox().wrap(["sh", "-c", script], {}, directory=checkout)
    done = subprocess.run(argv, env=env, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.stdout == "work"
    assert ((checkout / "here").read_text(), (yard.clone / "file").read_text()) == ("1\n", "work")


def test_the_exit_status_and_signals_reach_the_command(yard: Yard) -> None:
    assert yard.run("exit 7").returncode == 7
    command = ["sh", "-c", "touch started; exec sleep 600"]
    argv, env = yard.sandbox().wrap(command, {}, directory=yard.clone)
    running = subprocess.Popen(argv, env=env, cwd=yard.clone)
    wait_for((yard.clone / "started").exists)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    wait_for(lambda: not working_in(yard.clone))


def test_git_of_ours_runs_what_the_agent_configured_only_inside(yard: Yard) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=yard.clone, check=True, capture_output=True)

    git("init", "--quiet")
    git(
        "config",
        "core.fsmonitor",
        f"cat /proc/*/environ > '{yard.clone}/seen'; touch '{yard.home}/ran'; touch '{yard.main}/ran'; false",
    )
    kept = yard.private.parent / "spool"
    kept.mkdir()
    sandbox = GitSandbox(yard.clone, kept, yard.main)
    argv, env = sandbox.wrap(["git", "status"], dict(os.environ), yard.clone)
    subprocess.run(argv, cwd=yard.clone, capture_output=True, check=True, env=env)
    assert (yard.clone / "seen").exists()
    assert SECRET not in (yard.clone / "seen").read_text()
    assert not (yard.home / "ran").exists() and not (yard.main / "ran").exists()
