"""Plain text on the screen."""

from textual.widgets import Static

from spool.domain.text import clean


class Line(Static):
    """Shows text from anywhere as it is: no markup, and nothing that could act on the terminal."""

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(clean(text), markup=False, id=id, classes=classes)

    def say(self, text: str, *, layout: bool = False) -> None:
        """Show another text; `layout` if its height may change."""
        self.update(clean(text), layout=layout)
