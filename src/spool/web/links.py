"""The addresses of the page."""

from urllib.parse import quote, urlencode

from spool.domain.loop.summary import LoopSummary

STATIC = "/static/"


class Links:
    """Builds the addresses below the folder that the session's cookie is limited to."""

    def __init__(self, base: str) -> None:
        self.base = base

    def loop(self, loop: LoopSummary) -> str:
        """Return the address of a loop."""
        return f"{self.base}loop/{quote(loop.id, safe='')}"

    def story(self, loop: LoopSummary, story_id: str) -> str:
        """Return the address of a story."""
        return f"{self.loop(loop)}/story?{_query(id=story_id)}"

    def log(self, loop: LoopSummary, *, before: int | None = None, at: int | None = None) -> str:
        """Return the address of the agent's stream: its end, the events before a place, or those from a place on."""
        places = {name: place for name, place in (("before", before), ("at", at)) if place is not None}
        return f"{self.loop(loop)}/log{f'?{urlencode(places)}' if places else ''}"

    def output(self, loop: LoopSummary, at: int) -> str:
        """Return the address of one message or tool output, uncut."""
        return f"{self.loop(loop)}/output?{urlencode({'at': at})}"

    def stream(self, loop: LoopSummary | None = None) -> str:
        """Return the address of the server-sent events of a loop, or of the list of loops."""
        return f"{self.loop(loop) if loop else self.base.rstrip('/')}/stream"

    def act(self, loop: LoopSummary, what: str) -> str:
        """Return the address that a form posts to."""
        return f"{self.loop(loop)}/{what}"


def _query(**given: str) -> str:
    return urlencode(given, encoding="utf-8", errors="surrogateescape")
