"""The gate before each agent in a fleet, part by part: `python -m bench fleet`."""

import asyncio
import statistics
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from spool.app.starting.construction import new_run_id
from spool.domain.loop.settings import Settings
from spool.domain.loop.spec import LoopSpec
from spool.domain.loop.summary import LoopKind
from spool.fleet.snapshots.carried_state import CarriedState, first_files
from spool.fleet.snapshots.layout import lay_out
from spool.fleet.snapshots.snapshot_store import SnapshotStore, StoredSnapshot, commit_head, make_bare, state_commit
from spool.fleet.snapshots.tree_commits import TreeCommits, take_trees
from spool.fleet.values import SnapshotMark, ref_of
from spool.host.git.repository import Repository
from spool.host.git.working_tree import GitWorktree
from spool.host.git.workspaces.clones import clone_repository
from spool.host.state.records import exactly

ROUNDS = 15


def git(*words: str, cwd: Path) -> str:
    author = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    return subprocess.run(["git", *author, *words], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


async def measure(files: int) -> None:
    with tempfile.TemporaryDirectory(prefix="spool-bench-") as name:
        base = Path(name)
        head = _project(base / "project", files)
        remote, store = base / "snapshots.git", SnapshotStore(base / "store.git", str(base / "snapshots.git"))
        await make_bare(remote, "sha1")
        await store.prepare("sha1")
        git("push", "--quiet", str(store.path), f"{head}:refs/heads/main", cwd=base / "project")
        spec = LoopSpec(
            run_id=new_run_id(), door=LoopKind.RUN, change="bench", root=str(base / "r"), settings=Settings()
        )
        mark = SnapshotMark(change="bench", remote="", base=head, workspace="bench")
        pieces = first_files(spec, algorithm="sha1")
        tree = commit_head("refs/spool/made/t", b'{"head":"%b"}' % head.encode(), parent=head, number=1) + b"\n"
        (commit,) = await store.imported([tree, state_commit(mark, pieces, parent=":1", number=2)])
        await store.push(commit, "", ref_of("bench"))
        began = time.perf_counter()
        snapshot = await store.read(commit)
        clone = await lay_out(base / "home", store, snapshot, name="bench", sandboxed=False, timeout_s=300)
        print(f"{files} files: clone laid out in {time.perf_counter() - began:.2f} s")
        await _gates(clone_repository(base / "home", clone), store, snapshot, spec)


def _project(root: Path, files: int) -> str:
    git("init", "--quiet", "--initial-branch=main", str(root), cwd=root.parent)
    for at in range(files):
        path = root / f"folder{at // 100}" / f"file{at}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"line {at}\n" * 20)
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--message", "start", cwd=root)
    return git("rev-parse", "HEAD", cwd=root)


async def _gates(repository: Repository, store: SnapshotStore, snapshot: StoredSnapshot, spec: LoopSpec) -> None:
    worktree = GitWorktree(repository, timeout_s=300)
    commits = TreeCommits(repository, worktree.recorder, timeout_s=300)
    carried = CarriedState(spec, exactly(spec), algorithm="sha1", logs=False)
    taken = "refs/spool/taken/bench"
    await store.keep(snapshot.tree_commit, taken)
    parts: dict[str, list[float]] = {name: [] for name in ("commit the tree", "fetch", "write", "push", "whole gate")}
    for at in range(ROUNDS):
        (repository.top / f"folder{at}" / "new.txt").write_text(f"{at}\n")
        await worktree.mark()
        times = [time.perf_counter()]
        commit = await commits.make(None, (), tree=worktree.marked_tree)
        times.append(time.perf_counter())
        await take_trees(repository.top, commits.place, store.path, ref=taken)
        times.append(time.perf_counter())
        made = await store.write(commit, carried.pieces(), snapshot.mark)
        times.append(time.perf_counter())
        await store.push(made.commit, snapshot.commit, ref_of("bench"))
        times.append(time.perf_counter())
        snapshot = made
        spans = [later - earlier for earlier, later in pairwise(times)]
        for name, span in zip(parts, [*spans, times[-1] - times[0]], strict=True):
            parts[name].append(span)
    for name, spans in parts.items():
        print(f"{name:16} median {statistics.median(spans) * 1000:6.0f} ms, best {min(spans) * 1000:6.0f} ms")


def main() -> None:
    """Measure at 20,000 files."""
    asyncio.run(measure(20_000))
