"""Agent output is data: what is shown, quoted or searched is cleaned of everything that could act on a terminal."""

import re

# CSI, OSC, DCS/SOS/PM/APC strings and two-byte escapes. An OSC that never ends eats to the end of its line only.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n)|\Z)"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c|(?=\n)|\Z)"
    r"|\x1b[ -/]*[0-~]"
)
# C0 without tab and newline, DEL, C1, and the bidirectional controls that make text read otherwise than it is.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return text without escape sequences and control characters; tabs and newlines stay."""
    if not _SUSPECT.search(text):
        return text
    text = text.replace("\r\n", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def one_line(text: str, limit: int = 200) -> str:
    """Return cleaned text on one line, cut at limit characters."""
    # Only the head can be shown, so only the head is worth cleaning: a reason may be a megabyte.
    words = " ".join(clean(text[: limit * 20]).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def capped(text: str, limit: int) -> str:
    """Return cleaned text of at most limit characters, saying how much is missing."""
    cleaned = clean(text)
    if len(cleaned) <= limit:
        return cleaned
    return f"{cleaned[:limit]}… ({len(cleaned) - limit} more characters)"


def quoted(text: str) -> str:
    """Return text as a Markdown block quote, so that nothing in it can pass for an instruction of ours."""
    return "\n".join(f"> {line}" for line in text.splitlines()) or "> "
