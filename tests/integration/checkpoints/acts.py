"""What a person or an agent may do to a repository, as data that hypothesis can draw and shrink."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from tests.integration.checkpoints.world import World, remove

NAMES = [
    "a", "b.txt", "run.sh", "d/x", "d/y", "d/e/z", "d/e/w.log", "top.log", ".env", "nm/p", "nm/q/r", "o/only.log",
    "e", "e/f", "é ñ", ":odd", "-dash", "q\nq", "crlf.txt", "id.c", "sub/in", "nest/in", ".gitignore", "d/.gitignore",
]  # fmt: skip
CONTENTS = [b"one\n", b"two\n", b"", b"a\r\nb\r\n", b"$Id$ x\n", b"\x00\xff", b"longer " * 50, b"one\r\n"]
RULES = [b"*.log\n.env\nnm/\n", b"*.log\n", b"", b"d/\n", b"*\n!d/\n", b"e\nsub/\n", b"o/\n.gitignore\n", b"/nm\n"]
ATTRIBUTES = [
    b"* text=auto\n",
    b"*.c ident\n*.txt eol=crlf\n",
    b"* filter=mark\n",
    b"crlf.txt working-tree-encoding=UTF-16\n",
]
REFUSED = [".GIT/f", ".Git", "d/.GIT/g", ".gitmodules"]
"""Names that git takes into no index, the last one if it is a link: left alone if they were there."""
HOSTILE = [*REFUSED, "git~1", ".git ", "A", "B.TXT", "D/x", "É ñ", "x" * 255, "d/" + "y" * 251 + ".log"]
MODES = [0o644, 0o755, 0o600, 0o444, 0o777, 0o640]
BRANCHES = ["main", "other", "feat/x", "feat"]
REPOS = ["sub", "nest"]
FIFOS = ["pipe", "d/pipe", "a"]

Act = tuple[str, ...] | tuple[str | bytes | int, ...]

_names = st.sampled_from(NAMES)
_contents = st.sampled_from(CONTENTS)
_branches = st.sampled_from(BRANCHES)

files = st.one_of(
    st.tuples(st.just("write"), _names, _contents),
    st.tuples(st.just("write"), _names, _contents),
    st.tuples(st.just("remove"), _names),
    st.tuples(st.just("chmod"), _names, st.sampled_from(MODES)),
    st.tuples(st.just("link"), _names, st.sampled_from(["a", "nowhere", "d", "../outside", "/etc/hostname"])),
    st.tuples(st.just("folder"), st.sampled_from(["d/empty", "void", "void/deep", "e", "o", "d"])),
    st.tuples(st.just("close"), st.sampled_from(["d", "void", "d/e"])),
    st.tuples(st.just("rename"), _names, _names),
    st.tuples(st.just("write"), st.sampled_from([".gitignore", "d/.gitignore"]), st.sampled_from(RULES)),
    st.tuples(st.just("write"), st.just(".gitattributes"), st.sampled_from(ATTRIBUTES)),
    st.tuples(st.just("fifo"), st.sampled_from(FIFOS)),
)
hostile = st.one_of(
    st.tuples(st.just("write"), st.sampled_from([name for name in HOSTILE if name != ".gitmodules"]), _contents),
    st.tuples(st.just("link"), st.just(".gitmodules"), st.just("a")),
    st.tuples(st.just("remove"), st.sampled_from(HOSTILE)),
    st.tuples(st.just("rewrite"), _names),
    st.tuples(st.just("swap"), _names),
    st.tuples(st.just("mode_of_top"), st.sampled_from([0o755, 0o700, 0o775, 0o711])),
    st.tuples(st.just("exclude"), st.sampled_from(RULES)),
    st.tuples(st.just("excludes_file"), st.sampled_from(RULES)),
)
git = st.one_of(
    st.tuples(st.just("link_ref"), st.sampled_from(["alias", "feat/alias"]), _branches),
    st.tuples(st.just("delete_link_ref"), st.sampled_from(["alias", "feat/alias"])),
    st.tuples(st.just("delete_tag"), st.sampled_from(["v1", "v2"])),
    st.tuples(st.just("add"), _names),
    st.tuples(st.just("add_all")),
    st.tuples(st.just("commit")),
    st.tuples(st.just("commit")),
    st.tuples(st.just("branch"), _branches),
    st.tuples(st.just("delete_branch"), _branches),
    st.tuples(st.just("switch"), _branches),
    st.tuples(st.just("detach")),
    st.tuples(st.just("tag"), st.sampled_from(["v1", "v2"])),
    st.tuples(st.just("merge"), _branches),
    st.tuples(st.just("conflict"), st.sampled_from(["merge", "rebase", "cherry-pick"])),
    st.tuples(st.just("unstage"), _names),
    st.tuples(st.just("assume"), _names),
    st.tuples(st.just("reset")),
    st.tuples(st.just("stash")),
)
nested = st.one_of(
    st.tuples(st.just("nested"), st.sampled_from(REPOS)),
    st.tuples(st.just("submodule"), st.just("sub")),
    st.tuples(st.just("nested_commit"), st.sampled_from(REPOS)),
    st.tuples(st.just("write"), st.sampled_from(["sub/in", "nest/in", "nest/deep/in"]), _contents),
)
damage = st.one_of(
    st.tuples(st.just("gc")),
    st.tuples(st.just("remove"), st.sampled_from(["d", "e", "void", "sub", "nest", "nm"])),
    st.tuples(st.just("spool_free_clean")),
    st.tuples(st.just("remove_modules")),
    st.tuples(st.just("replace_module")),
)
mounts = st.tuples(st.just("mount"), st.sampled_from(["mnt", "d/mnt", "d", "nm", "void/mnt", "a", ".env"]))
setups = st.lists(st.one_of(files, files, git, nested, hostile), max_size=14)
mutations = st.lists(st.one_of(files, files, git, nested, damage, hostile), min_size=1, max_size=10)
mounting = st.lists(st.one_of(files, files, git, hostile, mounts), min_size=1, max_size=10)
replacing = st.sampled_from(["remove_git", "replace_git"])
leaving = st.sampled_from(["remove_git", "replace_git", "remove_tree"])
beside = st.lists(
    st.one_of(
        st.tuples(st.just("second_write"), st.sampled_from(["a", "d/x", "new"]), _contents),
        st.tuples(st.just("second_commit")),
    ),
    max_size=4,
)
"""What somebody does in a second working tree meanwhile."""


def act(world: World, what: Act) -> None:
    """Do one thing; what cannot be done is not done."""
    name, *words = what
    try:
        _ACTS[str(name)](world, *words)
    except OSError as error:
        if error.errno != errno.EBUSY:  # a mount point can be neither removed nor replaced
            raise


def _path(world: World, name: str) -> Path:
    return world.top / name


def _make_way(world: World, name: str) -> bool:
    """Replace files in the way by folders; never climb through a link out of the tree."""
    parent = world.top
    for part in Path(name).parts[:-1]:
        parent = parent / part
        if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
            parent.unlink()
        parent.mkdir(exist_ok=True)
    return True


def _write(world: World, name: str, content: bytes) -> None:
    _make_way(world, name)
    remove(_path(world, name))
    _path(world, name).write_bytes(content)


def _remove(world: World, name: str) -> None:
    if _inside(world, name):
        remove(_path(world, name))


def _inside(world: World, name: str) -> bool:
    return not any((world.top / part).is_symlink() for part in Path(name).parents)


def _chmod(world: World, name: str, mode: int) -> None:
    path = _path(world, name)
    if _inside(world, name) and path.is_file() and not path.is_symlink():
        path.chmod(mode)


def _close(world: World, name: str) -> None:
    path = _path(world, name)
    if _inside(world, name) and path.is_dir() and not path.is_symlink():
        path.chmod(0o700)


def _link(world: World, name: str, target: str) -> None:
    if name == ".gitmodules" and (world.top / ".git/modules").exists():
        return  # git itself refuses to work in such a tree
    _make_way(world, name)
    remove(_path(world, name))
    _path(world, name).symlink_to(target)


def _folder(world: World, name: str) -> None:
    _make_way(world, name + "/x")


def _rename(world: World, old: str, new: str) -> None:
    if old == new or not _inside(world, old) or not os.path.lexists(_path(world, old)):
        return
    if new.startswith(old + "/") or old.startswith(new + "/"):
        return
    _make_way(world, new)
    if os.path.lexists(_path(world, old)):
        remove(_path(world, new))
        _path(world, old).rename(_path(world, new))


def _fifo(world: World, name: str) -> None:
    _make_way(world, name)
    remove(_path(world, name))
    os.mkfifo(_path(world, name))


def _git(*words: str) -> Callable[..., None]:
    def do(world: World, *more: str) -> None:
        world.git(*words, *more, check=False)

    return do


def _nested(world: World, name: str) -> None:
    _make_way(world, name + "/x")
    world.git("init", "-q", "-b", "main", cwd=_path(world, name), check=False)


def _submodule(world: World, name: str) -> None:
    source = world.base / "library"
    if not source.exists():
        source.mkdir()
        world.git("init", "-q", "-b", "main", cwd=source)
        (source / "in").write_text("library\n")
        world.commit(cwd=source)
    linked = (world.top / ".gitmodules").is_symlink()  # git itself can then not even show the status
    if not linked and not (world.top / name).exists():
        world.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(source), name, check=False)


def _nested_commit(world: World, name: str) -> None:
    if (world.top / name / ".git").exists():
        world.git("add", "-A", cwd=world.top / name, check=False)
        world.git("commit", "-qm", "nested", cwd=world.top / name, check=False)


def _conflict(world: World, how: str) -> None:
    """Stop in the middle of a merge, a rebase or a cherry-pick."""
    for branch, content in (("theirs", b"theirs\n"), ("ours", b"ours\n")):
        world.git("checkout", "-q", "-f", "-B", branch, "main", check=False)
        _write(world, "a", content)
        world.git("add", "-f", "a", check=False)
        world.git("commit", "-q", "-m", branch, check=False)
    world.git(how, "theirs", check=False)


def _gc(world: World) -> None:
    world.git("reflog", "expire", "--expire=now", "--all", check=False)
    world.git("gc", "-q", "--prune=now", check=False)


def _clean(world: World) -> None:
    """Do what `git clean -fd` does to the outer repository; `-x` and `-ff` would take what nobody promises to save."""
    world.git("clean", "-fdq", check=False)


def _rewrite(world: World, name: str) -> None:
    """Change a file but neither its size nor its time."""
    path = _path(world, name)
    if _inside(world, name) and path.is_file() and not path.is_symlink():
        times, content = path.stat(), path.read_bytes()
        path.write_bytes(bytes(byte ^ 1 for byte in content))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _swap(world: World, name: str) -> None:
    """Put another file of the same size and time in the place of one, as `cp -p` and `mv` do."""
    path = _path(world, name)
    if _inside(world, name) and path.is_file() and not path.is_symlink():
        times, other = path.stat(), path.with_name("swapped")
        other.write_bytes(bytes(byte ^ 2 for byte in path.read_bytes()))
        other.chmod(times.st_mode)
        os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
        other.rename(path)


def _exclude(world: World, rules: bytes) -> None:
    (world.top / world.git("rev-parse", "--git-path", "info/exclude").strip()).write_bytes(rules)


def _excludes_file(world: World, rules: bytes) -> None:
    path = world.base / f"rules-{len([*world.base.glob('rules-*')])}"
    path.write_bytes(rules)
    world.git("config", "core.excludesFile", str(path))


def _link_ref(world: World, name: str, branch: str) -> None:
    if world.git("rev-parse", "-q", "--verify", f"refs/heads/{branch}", check=False):
        world.git("symbolic-ref", f"refs/heads/{name}", f"refs/heads/{branch}", check=False)


def _remove_modules(world: World) -> None:
    """Remove a submodule the thorough way. An ignored one is an ignored folder to a checkpoint, and not saved."""
    if world.git("check-ignore", "--no-index", "sub", check=False):
        return
    if (world.top / ".git/modules").exists():
        shutil.rmtree(world.top / ".git/modules")
        remove(world.top / "sub")


def _replace_module(world: World) -> None:
    """Put another repository in the place of a submodule's git directory."""
    module = world.top / ".git/modules/sub"
    if module.exists() and not world.git("check-ignore", "--no-index", "sub", check=False):
        shutil.rmtree(module)
        world.git("init", "-q", "-b", "agent", str(world.base / "other"))
        (world.base / "other/.git").rename(module)
        world.git("config", "core.worktree", "../../../sub", cwd=module)


def _mount(world: World, name: str) -> None:
    """Mount something precious into the tree."""
    precious, point = world.base / "precious", _path(world, name)
    if not precious.exists():
        (precious / "deep").mkdir(parents=True)
        for file in ("x", "deep/y", ".env"):
            (precious / file).write_text("precious\n")
    if not _inside(world, name) or point.is_symlink() or point in world.mounted:
        return
    if not point.exists():
        _make_way(world, name + "/x")
    source = precious if point.is_dir() else precious / "x"
    if not subprocess.run(["mount", "--bind", source, point], capture_output=True).returncode:
        world.mounted.append(point)


def _remove_git(world: World) -> None:
    remove(world.top / ".git")


def _remove_tree(world: World) -> None:
    world.git("worktree", "remove", "--force", "--force", str(world.top))


def _second_write(world: World, name: str, content: bytes) -> None:
    path = world.base / "second" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _second_commit(world: World) -> None:
    second = world.base / "second"
    world.git("add", "-A", cwd=second, check=False)
    world.git("commit", "-q", "--allow-empty", "-m", "in the second tree", cwd=second, check=False)


def _replace_git(world: World) -> None:
    _remove_git(world)
    world.git("init", "-q", "-b", "main")
    world.git("commit", "-q", "--allow-empty", "-m", "another repository")


_ACTS: dict[str, Callable[..., None]] = {
    "write": _write,
    "remove": _remove,
    "chmod": _chmod,
    "close": _close,
    "link": _link,
    "folder": _folder,
    "rename": _rename,
    "fifo": _fifo,
    "add": _git("add", "-f", "--"),
    "add_all": _git("add", "-A"),
    "commit": _git("commit", "-q", "-a", "-m", "work"),
    "branch": _git("branch", "-f"),
    "delete_branch": _git("branch", "-q", "-D"),
    "switch": _git("checkout", "-q", "-f"),
    "conflict": _conflict,
    "detach": _git("checkout", "-q", "--detach"),
    "tag": _git("tag", "-f"),
    "merge": _git("merge", "-q", "--no-edit"),
    "unstage": _git("rm", "-q", "--cached", "--"),
    "assume": _git("update-index", "--assume-unchanged", "--"),
    "reset": _git("reset", "-q", "--hard"),
    "stash": _git("stash", "-q"),
    "nested": _nested,
    "submodule": _submodule,
    "nested_commit": _nested_commit,
    "rewrite": _rewrite,
    "swap": _swap,
    "mode_of_top": lambda world, mode: world.top.chmod(mode),
    "exclude": _exclude,
    "excludes_file": _excludes_file,
    "link_ref": _link_ref,
    "delete_link_ref": lambda world, name: _git("symbolic-ref", "--delete")(world, f"refs/heads/{name}"),
    "delete_tag": _git("tag", "-d"),
    "remove_modules": _remove_modules,
    "replace_module": _replace_module,
    "mount": _mount,
    "remove_git": _remove_git,
    "replace_git": _replace_git,
    "remove_tree": _remove_tree,
    "second_write": _second_write,
    "second_commit": _second_commit,
    "gc": _gc,
    "spool_free_clean": _clean,
}


def cleaned(world: World) -> None:
    """Remove a world."""
    for point in reversed(world.mounted):
        subprocess.run(["umount", "-l", point], check=True)
    shutil.rmtree(world.base, ignore_errors=True)
