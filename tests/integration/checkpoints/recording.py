"""What the tests of recorded trees share."""

from spool.host.git.checkpoints.record.recorder import Recorder, Recording
from spool.host.git.checkpoints.record.shadow import Shadow
from spool.host.git.checkpoints.record.stamps import is_past
from tests.integration.checkpoints.world import World, run


def recorder_of(world: World) -> Recorder:
    found = world.repository()
    git_dir, lender = found.spool_dir / "shadow" / "test", found.common_dir / "objects"
    return Recorder(Shadow(found, git_dir=git_dir, timeout_s=30, lender=lender))


def settle(world: World, recorder: Recorder) -> Recording:
    """Record until the clock has passed everything that the tree and the record itself have changed."""
    recording = run(recorder.record())
    while True:
        newest = max(
            path.lstat().st_ctime_ns for path in [world.top, *world.top.rglob("*")] if ".git" not in path.parts
        )
        run(recorder.shadow.prepare())
        if is_past(newest, recorder.shadow.now_ns):
            assert run(recorder.record()).tree == recording.tree
            return recording
