"""Renders an agent's Markdown to HTML: no HTML of its own, no images, and links stay text."""

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from spool.domain.text.plain_text import clean


def _plain(tag: str, kind: str = "") -> object:
    """Return a rule that renders a tag without the attributes that the text gave it."""
    opened = f'<{tag} class="{kind}">' if kind else f"<{tag}>"

    def render(_: object, tokens: Sequence[Token], place: int, __: object, ___: object) -> str:
        return opened if tokens[place].nesting == 1 else f"</{tag}>\n"

    return render


_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "link", "autolink", "reference"])
for _name, _rule in {
    "heading_open": _plain("p", "strong"),  # the page's own headings keep their order
    "heading_close": _plain("p"),
    "th_open": _plain("td", "strong"),  # an empty one would be a heading of nothing
    "th_close": _plain("td"),
    "td_open": _plain("td"),  # alignment would be an inline style
}.items():
    _PARSER.add_render_rule(_name, _rule)  # type: ignore[arg-type]


def rendered(source: str) -> str:
    """Return Markdown as HTML that can neither run nor load anything."""
    text = clean(source).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return str(_PARSER.render(text))
