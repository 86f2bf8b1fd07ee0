"""Makes the README's picture of the loop screen: `make picture`."""

import asyncio
import re
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spool.tui.app import SpoolApp
from spool.tui.screens.loop import LoopScreen
from tests.tui.scene import CHANGE, Clock, half_way, make_scene
from tests.tui.support import text_of, until

SIZE = (124, 34)


async def picture() -> str:
    """Return the loop screen in the middle of a loop, as SVG that fetches nothing."""
    with tempfile.TemporaryDirectory() as folder:
        scene = make_scene(Path(folder))
        events = half_way()
        step = timedelta(seconds=18)
        scene.clock = Clock(datetime.now(UTC) - step * (len(events) + 1), step)
        scene.write(*events)
        app = SpoolApp(scene.client())
        async with app.run_test(size=SIZE) as pilot:
            await app.push_screen(LoopScreen(app._client, scene.running))
            await until(pilot, lambda: "test_middleware.py" in text_of(app) and "✓ 1 Tokens" in text_of(app))
            await pilot.pause(0.5)
            drawn = app.export_screenshot(title=f"spool tui {CHANGE}")
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)


def main() -> None:
    """Write the picture to the file that is named."""
    Path(sys.argv[1]).write_text(asyncio.run(picture()), "utf-8")


if __name__ == "__main__":
    main()
