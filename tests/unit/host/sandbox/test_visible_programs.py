"""What a sandbox shows of the programs on the PATH."""

import json
import os
import subprocess
import sys
from pathlib import Path

LOOK = """
import json, os, sys
from pathlib import Path
from spool.host.sandbox.private import private_folders
from spool.host.sandbox.visible_programs import needs_of, unreadable_folders
if os.geteuid() == 0:  # to whom nothing is closed
    os.setuid(65534)
needs = needs_of(["sh", "cargo"], [Path(sys.argv[1]), *private_folders(Path(sys.argv[1]))], whole_path=True)
print(json.dumps([sorted(map(str, needs.paths)), list(map(str, unreadable_folders()))]))
"""


def test_a_folder_on_the_path_that_cannot_be_read_is_skipped(tmp_path: Path) -> None:
    closed = tmp_path / "home" / "cargo" / "bin"
    closed.mkdir(parents=True)
    (tmp_path / "home").chmod(0)
    env = {**os.environ, "PATH": f"{closed}:/usr/bin:/bin", "CARGO_HOME": str(closed.parent), "HOME": str(closed)}
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path / "home")],
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
    )
    (tmp_path / "home").chmod(0o700)
    assert done.returncode == 0, done.stderr
    shown, skipped = json.loads(done.stdout)
    assert skipped == [str(closed)]
    assert [path for path in shown if path.startswith(str(tmp_path))] == []
