"""A command that is given up is gone, with all that asyncio holds of it."""

import asyncio
import gc
import os
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from spool.errors import CommandTimeout
from spool.host import external_command
from spool.host.external_command import run_command

STUBBORN = ["sh", "-c", "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"]


def test_a_command_that_is_cancelled_while_it_starts_is_not_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def cancel_after(steps: int) -> None:
        task = asyncio.create_task(run_command(["true"], directory=tmp_path, timeout_s=30))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def main() -> None:
        for number in range(120):
            await cancel_after(number % 6)

    asyncio.run(main())
    assert caplog.messages == []


def test_a_command_that_is_given_up_dies_though_the_loop_shuts_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, asked = tmp_path / "pid", tmp_path / "asked"
    monkeypatch.setattr(external_command, "_TERM_GRACE_S", 60.0)
    stubborn = ["sh", "-c", "trap 'touch asked' TERM; echo $$ > pid; while :; do sleep 0.1; done"]

    async def main() -> None:
        timed_out = asyncio.create_task(run_command(stubborn, directory=tmp_path, timeout_s=5))
        while not asked.exists():
            await asyncio.sleep(0.01)
        assert not timed_out.done()  # it is being given up, and the loop ends meanwhile

    gc.collect()  # what earlier tests left open is theirs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert not [str(warning.message) for warning in caught]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_command_that_takes_too_long_leaves_nothing_open(tmp_path: Path) -> None:
    gc.collect()  # what earlier tests left open is theirs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(CommandTimeout, match="did not answer"):
            asyncio.run(run_command(STUBBORN, directory=tmp_path, timeout_s=0.1))
        gc.collect()
    assert not [str(warning.message) for warning in caught]
