"""The frame around every page, and the short pages that only say something."""

from html import escape

from spool.views.report.parts import text
from spool.web.links import STATIC

_HEAD = (
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
    f'<link rel="icon" href="{STATIC}icon.svg"><link rel="stylesheet" href="{STATIC}page.css">'
)


def document(title: str, body: str, *, up: tuple[tuple[str, str], ...] = (), live: bool = False, head: str = "") -> str:
    """Return a whole page; `up` are the addresses and names of the pages above it."""
    script = f'<script src="{STATIC}live.js" defer></script>' if live else ""
    above = "".join(
        f' <span aria-hidden="true">/</span> <a href="{escape(href)}">{text(name)}</a>' for href, name in up
    )
    state = '<span id="connection" role="status"></span>' if live else ""
    return (
        f'<!doctype html>\n<html lang="en"><head>{_HEAD}{head}{script}<title>{text(title)} · Spool</title></head><body>'
        '<a class="skip" href="#main">Skip to the content</a>'
        f'<header><nav aria-label="Pages"><strong>Spool</strong>{above}</nav>{state}</header>{body}</body></html>\n'
    )


def notice(title: str, *lines: str, more: str = "", head: str = "") -> str:
    """Return a page with a few sentences."""
    said = "".join(f"<p>{text(line)}</p>" for line in lines)
    return document(title, f'<main id="main"><h1>{text(title)}</h1>{said}{more}</main>', head=head)


def entrance(base: str) -> str:
    """Return the page that leads from the address with the token into the session.

    It leads on by itself: after a redirect, a browser that came from another site would not send the new cookie.
    """
    go = f'<meta http-equiv="refresh" content="0;url={escape(base)}">'
    return notice("Loops", more=f'<p><a href="{escape(base)}">Continue</a></p>', head=go)


def login(*, wrong: bool) -> str:
    """Return the form that asks for the password."""
    said = '<p class="bad" role="alert">! That is not the password.</p>' if wrong else ""
    form = (
        '<form method="post" action="/"><p><label for="password">Password</label> '
        '<input id="password" name="password" type="password" autocomplete="current-password" required></p>'
        '<p><button type="submit">Open</button></p></form>'
    )
    return notice("Spool asks for its password", more=said + form)
