"""A git that loses what it writes."""

import os

import pytest

from tests.integration.checkpoints.world import World


def _losing_git(world: World, monkeypatch: pytest.MonkeyPatch, command: str, times: int) -> None:
    """Put a git first on PATH that loses all new objects of a command, some times."""
    folder = world.base / "bin"
    folder.mkdir(exist_ok=True)
    (world.base / "left").write_text("x" * times)
    (folder / "git").write_text(
        f"""#!/bin/sh
PATH="{os.environ["PATH"]}"
list="{world.base}/list.$$"
objects() {{ find "$GIT_DIR/objects" -type f -path '*/??/*' 2>/dev/null | sort; }}
case " $* " in *" {command} "*)
    objects > "$list"
    git "$@"
    code=$?
    if [ -s "{world.base}/left" ]; then
        cut -c2- "{world.base}/left" | tr -d '\\n' > "$list.left"
        mv "$list.left" "{world.base}/left"
        objects | comm -13 "$list" - | xargs rm -f
    fi
    exit $code
esac
exec git "$@"
"""
    )
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
