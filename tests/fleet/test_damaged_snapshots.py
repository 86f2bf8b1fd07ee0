"""Snapshots that cannot be read are named, and keep no other change from the queue."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.fleet.support import Fleet, git

REFS = "refs/spool/fleet"
GOOD = ("001-01_first", "009-01_last")
DAMAGED = {
    "002-01_lost": "'git fetch' failed",
    "003-01_hollow": "'git fetch' failed",
    "004-01_garbage": "is not a snapshot of this version of Spool",
    "005-01_speckless": "the snapshot has no spec that this Spool can read",
    "006-01_truncated": "state.json cannot be read",
    "007-01_swapped": "it is a snapshot of 001-01_first, not of 007-01_swapped",
    "008-01_torn": "'git fetch' failed",
}
WITHOUT_HOST = {"005-01_speckless", "006-01_truncated"}
"""What no host can continue, and a person can read."""
WORDS = ("fleet", "submit", "--snapshots", "fleet://snapshots.git")


@pytest.mark.long
def test_a_queue_is_rebuilt_from_the_snapshots_that_can_be_read(fleet: Fleet) -> None:
    fleet.make(*GOOD, *DAMAGED)
    fleet.submit("--all")
    assert fleet.spool("fleet", "stop", *GOOD, *DAMAGED).returncode == 0
    damage(fleet.snapshots)
    again = fleet.spool(*WORDS, "--from-snapshots", "--json")
    assert again.returncode == 1, again.stderr
    rows = {row["change"]: row for row in json.loads(again.stdout)}
    assert {change: row["unreadable"] for change, row in rows.items() if not row["refused"]} == dict.fromkeys(
        GOOD, False
    )
    for change, why in DAMAGED.items():
        assert rows[change]["refused"].startswith("its snapshot cannot be read: "), change
        assert why in rows[change]["refused"], change
        assert rows[change]["unreadable"]
    assert {change for change, row in fleet.rows().items() if row["status"] == "queued"} == set(GOOD)
    for change in sorted(DAMAGED.keys() - WITHOUT_HOST):
        looked = fleet.spool("fleet", "show", change)
        assert f"{change}: stopped" in looked.stdout
        assert (looked.returncode, "its snapshot cannot be read: " in looked.stderr) == (1, True), looked.stderr
        assert DAMAGED[change] in json.loads(fleet.spool("fleet", "show", change, "--json").stdout)["unreadable"]
    shown = fleet.spool(*WORDS, "--from-snapshots")
    assert shown.returncode == 1
    assert "004-01_garbage: not submitted: its snapshot cannot be read: " in shown.stderr
    assert "spool fleet submit CHANGE --fresh" in shown.stderr


def test_one_damaged_snapshot_keeps_no_other_change_from_being_submitted(fleet: Fleet) -> None:
    fleet.make(*GOOD, "004-01_garbage")
    fleet.submit("004-01_garbage")
    assert fleet.spool("fleet", "stop", "004-01_garbage").returncode == 0
    garble(fleet.snapshots)
    done = fleet.spool(*WORDS, "--all")
    assert done.returncode == 1
    assert "004-01_garbage: not submitted: its snapshot cannot be read: " in done.stderr
    assert "Submitted 2 changes." in done.stdout
    fleet.submit("004-01_garbage", "--fresh")
    assert {row["status"] for row in fleet.rows().values()} == {"queued"}


def damage(store: Path) -> None:
    remove(store, f"{REFS}/002-01_lost")
    remove(store, f"{REFS}/003-01_hollow:spec.json")
    garble(store)
    rewrite(store, "005-01_speckless", "spec.json", b'{"door": "ru')
    rewrite(store, "006-01_truncated", "state.json", b'{"schema": 1, "run_id": "x", "sta')
    git("update-ref", f"{REFS}/007-01_swapped", f"{REFS}/001-01_first", cwd=store)
    (store / REFS / "008-01_torn").write_bytes(b"\0\0\0")


def remove(store: Path, name: str) -> None:
    oid = git("rev-parse", name, cwd=store).strip()
    (store / "objects" / oid[:2] / oid[2:]).unlink()


def garble(store: Path) -> None:
    ref = f"{REFS}/004-01_garbage"
    made = written(store, "commit-tree", f"{ref}^{{tree}}", "-p", f"{ref}^1", "-F", "-", data=b"{\xff\x1b[31m")
    git("update-ref", ref, made, cwd=store)


def rewrite(store: Path, change: str, name: str, data: bytes) -> None:
    """Replace a file of a snapshot; its mark stays."""
    ref = f"{REFS}/{change}"
    kept = [row for row in git("ls-tree", ref, cwd=store).splitlines() if not row.endswith(f"\t{name}")]
    blob = written(store, "hash-object", "-w", "--stdin", data=data)
    tree = written(store, "mktree", data="\n".join([*kept, f"100644 blob {blob}\t{name}\n"]).encode())
    mark = git("log", "-1", "--format=%B", ref, cwd=store).encode()
    git("update-ref", ref, written(store, "commit-tree", tree, "-p", f"{ref}^1", "-F", "-", data=mark), cwd=store)


def written(store: Path, *words: str, data: bytes) -> str:
    own = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    done = subprocess.run(["git", *own, *words], cwd=store, input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()
