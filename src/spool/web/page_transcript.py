"""Renders a loop's transcript as HTML. A later event can complete a block, which then is sent again.

Agent output is data: it is cleaned and escaped here, once.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

from markdown_it import MarkdownIt
from markdown_it.token import Token

from spool.app.loops.following import JournalEntry
from spool.domain.agent.stream import Done, Message, ToolResult
from spool.domain.loop.events import Event, said_in
from spool.domain.loop.summary import LoopSummary
from spool.domain.text.plain_text import clean, counted
from spool.views import words
from spool.views.live.narration import NarrationLine
from spool.views.live.speech import fenced_pieces, flagged
from spool.views.look import FAILED, RUNNING, Role
from spool.views.report.parts import raw, role_name, text
from spool.views.transcript import GateChain, LoopNote, ToolCall, Transcript, TranscriptBlock, Utterance
from spool.web.links import Links

_PIECE = 8_192
"""Characters of a message that are rendered as one block."""
_LONGEST_MESSAGE = 8 * _PIECE
_LONGEST_OUTPUT = 6_000
"""Characters of a tool's output to show: its end, where a traceback says what went wrong."""


class PageTranscript:
    """Reads events in order, and returns the new or changed blocks."""

    def __init__(self, links: Links, loop: LoopSummary) -> None:
        self._links = links
        self._loop = loop
        self._transcript = Transcript(longest=_LONGEST_MESSAGE)
        self._read = 0

    @property
    def resumes_at(self) -> int:
        """From where a later reader gets the blocks that are still open again; the others have their ids already."""
        since = self._transcript.open_since
        return self._read if since is None else since

    def take(self, rows: Iterable[JournalEntry]) -> str:
        """Add events, and return the blocks that are new or have changed, as HTML."""
        changed: dict[int, TranscriptBlock] = {}
        for placed in rows:
            self._read = placed.stop
            changed |= {block.at: block for block in self._transcript.take(placed.start, placed.event)}
        return "".join(self._html(block) for _, block in sorted(changed.items()))

    def _html(self, block: TranscriptBlock) -> str:
        at = block.result_at if isinstance(block, ToolCall) else block.at
        whole = f'<a href="{self._links.output(self._loop, at)}">show all</a>'
        return f'<div class="block" id="e{block.at}" data-at="{block.at}">{_rendered(block, whole)}</div>'


def _rendered(block: TranscriptBlock, whole: str) -> str:
    match block:
        case Utterance():
            parts = map(markdown_html, fenced_pieces(flagged(block.text), _PIECE))
            more = f"<p><small>{block.left_out:,} more characters: {whole}</small></p>" if block.left_out else ""
            return f'<div class="said">{"".join(parts)}{more}</div>'
        case ToolCall():
            return _call(block, whole)
        case GateChain(line=told):
            return _told(told)
        case LoopNote(lines=lines):
            return "".join(map(_told, lines))
        case _:
            assert_never(block)


def _call(call: ToolCall, whole: str) -> str:
    named = text(words.call(call.use, call.result) if call.use else "result")
    if call.result is None:
        state = f" <small>{RUNNING} running</small>" if call.running else ""
        return f'<p class="call">{named}{state}</p>'
    output = clean(call.result.output).rstrip()
    size = counted(len(output.splitlines()), "line") if output else "no output"
    head, kind = f"{f'{FAILED} ' if call.failed else ''}{named} <small>{size}</small>", " bad" if call.failed else ""
    if not output:
        return f'<p class="call{kind}">{head}</p>'
    cut = len(output) - _LONGEST_OUTPUT
    more = f"<p><small>{cut:,} characters before these: {whole}</small></p>" if cut > 0 else ""
    body = f"{more}<pre>{raw(output[-_LONGEST_OUTPUT:])}</pre>"
    return f'<details class="call{kind}"><summary>{head}</summary>{body}</details>'


def _told(told: NarrationLine) -> str:
    tag = "h3" if told.heading and told.role is Role.RUNNING else "p"
    strong = " strong" if told.heading else ""
    return f'<{tag} class="told {role_name(told.role)}{strong}">{text(told.text)}</{tag}>'


def whole_text(event: Event) -> str:
    """Return the uncut text of a message or a tool's output; empty for other events."""
    match said_in(event):
        case Message(text=found) | ToolResult(output=found) | Done(content=found):
            return clean(found)
        case _:
            return ""


def _bare(tag: str, kind: str = "") -> object:
    """Return a rule that renders a tag without the attributes that the text gave it."""
    opened = f'<{tag} class="{kind}">' if kind else f"<{tag}>"

    def render(_: object, tokens: Sequence[Token], place: int, __: object, ___: object) -> str:
        return opened if tokens[place].nesting == 1 else f"</{tag}>\n"

    return render


_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "link", "autolink", "reference"])
for _name, _rule in {
    "heading_open": _bare("p", "strong"),  # the page's own headings keep their order
    "heading_close": _bare("p"),
    "th_open": _bare("td", "strong"),  # an empty one would be a heading of nothing
    "th_close": _bare("td"),
    "td_open": _bare("td"),  # alignment would be an inline style
}.items():
    _PARSER.add_render_rule(_name, _rule)  # type: ignore[arg-type]


def markdown_html(source: str) -> str:
    """Return Markdown as HTML that can neither run nor load anything."""
    text = clean(source).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return str(_PARSER.render(text))
