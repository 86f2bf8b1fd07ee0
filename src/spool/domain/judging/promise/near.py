"""Finds promises that were almost made: in lower case, with a broken tag, or in other words."""

import re

from spool.domain.judging.promise.promises import DEFAULT_PROMISE, REASON_LIMIT, Promise, PromiseKind, Veto
from spool.domain.text.plain_text import capped, one_line

_WHY = "misspelled"
# A tag-like thing that begins a line, or ends one: <PROMISE>…, [promise]…, &lt;promise&gt;…, PROMISE: …
_NEAR = re.compile(
    r"(?im)^[ \t>#*_`\-+\"'✅🎉]*"
    r"(?:(?:<|&lt;|\[)[ \t]*(?:/[ \t]*)?promises?\b(?P<attributes>[^>\]\n&]*)(?:>|&gt;|\])|promise\s*[:=])"
    r"(?P<body>[^\n]{0,400})$"
)
_TAG = re.compile(r"(?:<|&lt;|\[)[ \t]*(?:/[ \t]*)?promises?\b[^>\]\n&]*(?:>|&gt;|\])?", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+")
_OTHER_WORDS = {"complete", "completed", "done", "finished"}


def near_miss(tail: str, promise: str) -> Veto | None:
    """Return the last promise that a message almost makes, if there is one."""
    found = None
    if "promise" not in tail.casefold():
        return found
    for line in _NEAR.finditer(tail):
        body = _TAG.sub("", line["body"]).strip(" \t*_`\"'.!/>") or line["attributes"] or ""
        if claimed := _claimed(body, promise):
            found = Veto(claimed, _WHY, one_line(line[0], 300))
    return found


def _claimed(body: str, promise: str) -> Promise | None:
    said = " ".join(_LETTERS.findall(body.casefold()))
    wanted = " ".join(_LETTERS.findall(promise.casefold()))
    others = _OTHER_WORDS if promise == DEFAULT_PROMISE else set()
    if said and (said == wanted or said in others or said == f"status {wanted}"):
        return Promise(PromiseKind.COMPLETE)
    if said.startswith("failed"):
        return Promise(PromiseKind.FAILED, capped(body, REASON_LIMIT))
    return None
