"""Counts the agents that run at once."""

import threading
from pathlib import Path


class Census:
    """Counts the agents that run, again and again."""

    def __init__(self, notes: Path) -> None:
        self.most = 0
        self._wanted = f"agent.py\0{notes}".encode()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._count, daemon=True)
        self._thread.start()

    def _count(self) -> None:
        while not self._over.wait(0.02):
            self.most = max(self.most, sum(self._is_agent(path) for path in Path("/proc").glob("[0-9]*")))

    def _is_agent(self, path: Path) -> bool:
        try:
            return self._wanted in (path / "cmdline").read_bytes()
        except OSError:
            return False

    def end(self) -> int:
        self._over.set()
        self._thread.join()
        return self.most
