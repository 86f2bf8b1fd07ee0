"""The files of a control group: what is written to them, and what is read."""

from pathlib import Path

from spool.host.agents.control_group import ControlGroup


def group_in(path: Path, *, oom_kills: int = 0) -> ControlGroup:
    for name in ("cgroup.procs", "cgroup.kill", "memory.max", "memory.oom.group"):
        (path / name).touch()
    (path / "memory.events").write_text(f"low 0\nhigh 0\nmax 4\noom 1\noom_kill {oom_kills}\noom_group_kill 1\n")
    return ControlGroup(path)


def test_a_limit_is_for_the_whole_group(tmp_path: Path) -> None:
    group_in(tmp_path).limit_memory(4 << 30)
    assert (tmp_path / "memory.max").read_text() == str(4 << 30)
    assert (tmp_path / "memory.oom.group").read_text() == "1"


def test_no_limit(tmp_path: Path) -> None:
    group_in(tmp_path).limit_memory(0)
    assert (tmp_path / "memory.max").read_text() == "max"


def test_kills_of_an_earlier_iteration_do_not_count(tmp_path: Path) -> None:
    group = group_in(tmp_path, oom_kills=2)
    group.limit_memory(1 << 30)
    assert not group.ran_out_of_memory()
    group_in(tmp_path, oom_kills=3)
    assert group.ran_out_of_memory()


def test_a_kernel_without_the_memory_controller(tmp_path: Path) -> None:
    group = ControlGroup(tmp_path)
    group.limit_memory(1 << 30)
    assert not group.ran_out_of_memory()
    assert list(tmp_path.iterdir()) == []
