"""Plain text on the screen."""

from textual.widgets import Static

from spool.domain.text.plain_text import clean


class PlainLine(Static):
    """Shows text verbatim, without markup and control sequences."""

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(clean(text), markup=False, id=id, classes=classes)

    def say(self, text: str, *, layout: bool = False) -> None:
        """Replace the text; set `layout` if its height may change."""
        self.update(clean(text), layout=layout)
