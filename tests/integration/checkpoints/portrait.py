"""Describe a working tree and its repository as facts, from git's documentation and the file system alone.

This is the second opinion on a revert: it knows nothing about how Spool records a tree. A portrait maps the name of each
fact to its value; two equal portraits are the same tree, index, HEAD, refs, submodules and worktrees.
"""

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

# What git itself keeps beside refs and index for an operation in progress, per worktree (gitrepository-layout, git-merge,
# git-rebase, git-bisect).
IN_PROGRESS = (
    *("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("REBASE_HEAD", "BISECT_START", "BISECT_LOG", "BISECT_TERMS", "BISECT_EXPECTED_REV"),
    *("rebase-merge", "rebase-apply", "sequencer"),
)
SETTINGS = ("config", "config.worktree", "info/exclude", "info/attributes", "info/sparse-checkout", "shallow")
INDEX_TIMES = (b"  ctime:", b"  mtime:", b"  dev:", b"  uid:")


def portrait(root: Path, *, ours: str) -> dict[str, str]:
    """Return every fact about the tree at `root`; refs under `ours` are Spool's own and left out."""
    mounts = _mount_points()
    facts = dict(_entries(os.fsencode(root.resolve()), mounts))
    for repository in [root, *_nested(root, mounts)]:
        name = str(repository.relative_to(root))
        facts.update({f"{name}: {fact}": value for fact, value in _repository(repository, ours)})
    return facts


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Name each fact that two portraits do not share, with both values."""
    return [
        f"{fact}: {before.get(fact, 'absent')} -> {after.get(fact, 'absent')}"
        for fact in sorted(before.keys() | after.keys())
        if before.get(fact) != after.get(fact)
    ]


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
            yield f"entry {path!r}", "a mount point"
            continue
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        yield f"entry {path!r}", _look(name, folder, status)
        if stat.S_ISDIR(status.st_mode) and name != b".git":
            try:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            except PermissionError:
                yield f"entry {path!r}/", "unreadable"
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
        if Path(folder) != root and ".git" in folders + files and _git(Path(folder), "rev-parse", "--git-dir") is not None:
            found.append(Path(folder))
        if ".git" in folders:
            folders.remove(".git")
    return found


def _repository(tree: Path, ours: str) -> Iterator[tuple[str, str]]:
    """Yield the facts of one repository: index, HEAD, refs, stashes, operations in progress, settings, worktrees."""
    yield from _index(tree)
    yield "HEAD", _read(*_git_paths(tree, "HEAD"))
    yield from _refs(tree, ours)
    yield "stashes", _text(_git(tree, "reflog", "show", "--format=%H %gs", "refs/stash", "--"))
    yield "status", _text(_git(tree, "status", "--porcelain=v2", "-z", "--ignored", "--untracked-files=all"))
    yield "worktrees", _text(_git(tree, "worktree", "list", "--porcelain", "-z"))
    for place in _git_paths(tree, *IN_PROGRESS, *SETTINGS):
        for path in _files(place):
            yield f"{place.name} {path.relative_to(place.parent)}", _read(path)


def _index(tree: Path) -> Iterator[tuple[str, str]]:
    """Yield each entry of the index with mode, object, stage and flags (intent to add, skip-worktree, assume-unchanged).

    The times and inode numbers of an entry are a cache; git-update-index calls them stat information.
    """
    entries = (_git(tree, "ls-files", "--stage", "--debug", "-z") or b"").split(b"\0")
    # With -z each path ends in NUL and the debug lines of that path follow it, before the next entry.
    names: list[bytes] = []
    for piece in entries:
        debug, entry = _debug_and_entry(piece)
        if names:
            yield f"index {names[-1]!r}", debug.decode()
        names.append(entry)
    missing = [line for line in _objects(tree, names) if line.endswith(" missing")]
    yield "objects of the index", "; ".join(missing) or "all there"


def _debug_and_entry(piece: bytes) -> tuple[bytes, bytes]:
    lines = piece.split(b"\n")
    flags = [line[line.find(b"flags:") :] for line in lines if b"flags:" in line and line.startswith(b"  size:")]
    debug = [line for line in lines if line.startswith((*INDEX_TIMES, b"  size:"))]
    return b" ".join(flags), b"\n".join(lines[len(debug) :])


def _objects(tree: Path, names: list[bytes]) -> list[str]:
    wanted = {name.split(b" ")[1] for name in names if name and not name.startswith(b"160000")}
    if not wanted:
        return []
    return _text(_git(tree, "cat-file", "--batch-check", stdin=b"\n".join(sorted(wanted)) + b"\n")).splitlines()


def _refs(tree: Path, ours: str) -> Iterator[tuple[str, str]]:
    """Yield each ref with its object and, for a symbolic ref, its target; a dangling one is read from its file."""
    listing = _text(_git(tree, "for-each-ref", "--format=%(refname) %(objectname) %(symref)"))
    for line in listing.splitlines():
        name, _, value = line.partition(" ")
        if not name.startswith(ours):
            yield f"ref {name}", value
    (refs,) = _git_paths(tree, "refs")
    for path in _files(refs):
        if (text := _read(path)).startswith("'ref: "):
            yield f"symbolic ref {path.relative_to(refs)}", text
    yield "history", "complete" if _git(tree, "rev-list", "--objects", "--all", "--quiet") is not None else "broken"


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(inner for inner in path.rglob("*") if inner.is_file())
    return [path] if path.is_file() else []


def _read(path: Path) -> str:
    try:
        return repr(path.read_bytes())[1:]
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _git_paths(tree: Path, *names: str) -> list[Path]:
    """Return where git keeps each of these for the worktree at `tree`; where they usually are, if git cannot say."""
    answer = _git(tree, "rev-parse", *(word for name in names for word in ("--git-path", name)))
    places = _text(answer).splitlines() if answer is not None else [f".git/{name}" for name in names]
    return [tree / place for place in places]


def _text(answer: bytes | None) -> str:
    return "" if answer is None else answer.decode(errors="surrogateescape")


def _git(tree: Path, *words: str, stdin: bytes = b"") -> bytes | None:
    """Return what git prints, without letting it refresh the index on the way; None when it fails."""
    answer = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(tree), *words], input=stdin, capture_output=True, check=False
    )
    return answer.stdout if answer.returncode == 0 else None
