"""Describe a working tree and its repository as facts, from git's documentation and the file system alone.

This is the second opinion on a revert: it knows nothing about how Spool records a tree. A portrait maps the name of
each fact to its value; two equal portraits are the same tree, index, HEAD, refs, submodules and worktrees.
"""

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

# What git keeps beside refs and index for an operation in progress (gitrepository-layout, git-merge, git-rebase).
IN_PROGRESS = (
    *("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("REBASE_HEAD", "BISECT_START", "BISECT_LOG", "BISECT_TERMS", "BISECT_EXPECTED_REV"),
    *("rebase-merge", "rebase-apply", "sequencer"),
)
SETTINGS = ("config", "config.worktree", "info/exclude", "info/attributes", "info/sparse-checkout", "shallow")
DEBUG = (b"  ctime:", b"  mtime:", b"  dev:", b"  uid:", b"  size:")


def portrait(root: Path, *, ours: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return every fact about the tree at `root`; refs under `ours` are Spool's own and left out."""
    mounts = _mount_points()
    facts = dict(_entries(os.fsencode(root.resolve()), mounts))
    for folder in [root, *_nested(root, mounts)]:
        repository = _Repository(folder, ours, env)
        facts.update({f"{folder.relative_to(root)}: {fact}": value for fact, value in repository.facts()})
    return facts


def differences(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Return each fact that two portraits do not share, with both values."""
    return {
        fact: f"{before.get(fact, 'absent')} -> {after.get(fact, 'absent')}"
        for fact in sorted(before.keys() | after.keys())
        if before.get(fact) != after.get(fact)
    }


def _entries(root: bytes, mounts: set[bytes]) -> Iterator[tuple[str, str]]:
    """Yield each file, link, folder and special file below `root`, except the insides of git directories and mounts.

    Folders are opened relative to their parent, so a path may be longer than PATH_MAX.
    """
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield from _folder(top, root, b"", mounts)
    finally:
        os.close(top)


def _folder(folder: int, root: bytes, prefix: bytes, mounts: set[bytes]) -> Iterator[tuple[str, str]]:
    for name in sorted(os.fsencode(entry) for entry in os.listdir(folder)):
        path = prefix + name
        if root + b"/" + path in mounts:
            yield f"entry {os.fsdecode(path)}", "a mount point"
            continue
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        yield f"entry {os.fsdecode(path)}", _look(name, folder, status)
        if stat.S_ISDIR(status.st_mode) and name != b".git":
            try:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            except PermissionError:
                yield f"entry {os.fsdecode(path)}/", "unreadable"
                continue
            try:
                yield from _folder(inner, root, path + b"/", mounts)
            finally:
                os.close(inner)


def _look(name: bytes, folder: int, status: os.stat_result) -> str:
    mode = oct(stat.S_IMODE(status.st_mode))
    match stat.S_IFMT(status.st_mode):
        case stat.S_IFLNK:
            return f"link to {os.readlink(name, dir_fd=folder)!r}"
        case stat.S_IFREG:
            return f"file {mode}, {status.st_size} bytes, {_digest(name, folder)}"
        case stat.S_IFDIR:
            return "a git directory" if name == b".git" else f"folder {mode}"
        case kind:
            return f"special file {kind:o} {mode}"


def _digest(name: bytes, folder: int) -> str:
    try:
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError:
        return "unreadable"


def _mount_points() -> set[bytes]:
    """Return the path of each mount, from the fifth field of mountinfo (proc(5)); none where there is no /proc."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except FileNotFoundError:
        return set()
    return {line.split(b" ")[4].decode("unicode_escape").encode("latin-1") for line in lines}


def _nested(root: Path, mounts: set[bytes]) -> list[Path]:
    """Return the submodules and other repositories inside the tree: each folder below the root that has a `.git`."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if os.fsencode(f"{folder}/{name}") not in mounts]
        if Path(folder) != root and ".git" in folders + files:
            found.append(Path(folder))
        if ".git" in folders:
            folders.remove(".git")
    return found


class _Repository:
    """One repository, as git's own commands describe it."""

    def __init__(self, tree: Path, ours: str, env: Mapping[str, str]) -> None:
        self._tree = tree
        self._ours = ours
        self._env = env

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield index, HEAD, refs, stashes, operations in progress, settings and worktrees."""
        yield from self._index()
        yield from self._refs()
        yield "HEAD", _content(*self._places("HEAD"))
        yield "stashes", self._text("reflog", "show", "--format=%H %gs", "refs/stash", "--")
        yield "status", self._text("status", "--porcelain=v2", "-z", "--ignored", "--untracked-files=all")
        yield "worktrees", self._text("worktree", "list", "--porcelain", "-z")
        for place in self._places(*IN_PROGRESS, *SETTINGS):
            for path in _files(place):
                yield f"{place.name} {path.relative_to(place.parent)}", _content(path)

    def _index(self) -> Iterator[tuple[str, str]]:
        """Yield each entry with mode, object, stage and flags (intent to add, skip-worktree, assume-unchanged).

        The times and inode numbers of an entry are a cache; git-update-index calls them stat information. With -z each
        path ends in NUL, and the debug lines of an entry stand before the next one.
        """
        names: list[bytes] = []
        for piece in (self._git("ls-files", "--stage", "--debug", "-z") or b"").split(b"\0"):
            flags, entry = _flags_and_entry(piece)
            if names:
                yield f"index {names[-1]!r}", flags
            names.append(entry)
        wanted = sorted({name.split(b" ")[1] for name in names if name and not name.startswith(b"160000")})
        answer = self._git("cat-file", "--batch-check", stdin=b"".join(name + b"\n" for name in wanted)) or b""
        missing = [line.decode() for line in answer.splitlines() if line.endswith(b" missing")]
        yield "objects of the index", "; ".join(missing) or "all there"

    def _refs(self) -> Iterator[tuple[str, str]]:
        """Yield each ref with its object and, for a symbolic ref, its target; a dangling one is read from its file."""
        for line in self._text("for-each-ref", "--format=%(refname) %(objectname) %(symref)").splitlines():
            name, _, value = line.partition(" ")
            if not name.startswith(self._ours):
                yield f"ref {name}", value
        (refs,) = self._places("refs")
        for path in _files(refs):
            if path.read_bytes().startswith(b"ref: "):
                yield f"symbolic ref {path.relative_to(refs)}", _content(path)
        whole = self._git("rev-list", "--objects", "--all", "--quiet") is not None
        yield "history", "complete" if whole else "broken"

    def _places(self, *names: str) -> list[Path]:
        """Return where git keeps each of these for this worktree."""
        answer = self._text("rev-parse", *(word for name in names for word in ("--git-path", name)))
        return [self._tree / place for place in answer.splitlines()]

    def _text(self, *words: str) -> str:
        return (self._git(*words) or b"").decode(errors="surrogateescape")

    def _git(self, *words: str, stdin: bytes = b"") -> bytes | None:
        """Return what git prints, without letting it refresh the index on the way; None when it fails."""
        argv = ["git", "--no-optional-locks", *words]
        answer = subprocess.run(argv, cwd=self._tree, env=self._env, input=stdin, capture_output=True, check=False)
        return answer.stdout if answer.returncode == 0 else None


def _flags_and_entry(piece: bytes) -> tuple[str, bytes]:
    lines = piece.split(b"\n")
    debug = [line for line in lines if line.startswith(DEBUG)]
    flags = [line.partition(b"flags: ")[2].decode() for line in debug if b"flags: " in line]
    return " ".join(flags), b"\n".join(lines[len(debug) :])


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(inner for inner in path.rglob("*") if inner.is_file())
    return [path] if path.is_file() else []


def _content(path: Path) -> str:
    try:
        return repr(path.read_bytes())
    except OSError as error:
        return f"unreadable: {error.strerror}"
