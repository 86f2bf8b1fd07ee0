"""The palette of the look as Textual's themes: the same colours as on a report's page, dark and light."""

from rich.terminal_theme import TerminalTheme
from textual.theme import Theme

from spool.views.look import Role
from spool.views.report.style import PAGE

DARK, LIGHT = "spool-dark", "spool-light"
COLOURLESS = "ansi-dark"
_SIXTEEN = (
    Role.PLAIN, Role.BAD, Role.GOOD, Role.WARN, Role.RUNNING, Role.ODD, Role.RUNNING, Role.PLAIN,
    Role.DIM, Role.BAD, Role.PROVED, Role.WARN, Role.RUNNING, Role.ODD, Role.RUNNING, Role.PLAIN,
)  # fmt: skip
"""The role of each of a terminal's sixteen colours; blue is not used apart from cyan."""


def themes() -> tuple[Theme, Theme]:
    """Return the dark and the light theme."""
    return _theme(DARK, dark=True), _theme(LIGHT, dark=False)


def selected_style(theme: Theme) -> str:
    """Return the style of what is selected: another ground; without colours, reversed."""
    line = theme.variables.get("line")
    return f"bold on {line}" if line else "bold reverse"


def sixteen(*, dark: bool) -> TerminalTheme:
    """Return the sixteen colours that painted text uses."""
    colours = [_rgb(_of(role, dark=dark)) for role in _SIXTEEN]
    ground = PAGE["dark" if dark else "light"][0]
    return TerminalTheme(_rgb(ground), _rgb(_of(Role.PLAIN, dark=dark)), colours[:8], colours[8:])


def _theme(name: str, *, dark: bool) -> Theme:
    ground, surface, line = PAGE["dark" if dark else "light"]
    return Theme(
        name=name,
        dark=dark,
        primary=_of(Role.RUNNING, dark=dark),
        secondary=_of(Role.ODD, dark=dark),
        accent=_of(Role.RUNNING, dark=dark),
        success=_of(Role.GOOD, dark=dark),
        warning=_of(Role.WARN, dark=dark),
        error=_of(Role.BAD, dark=dark),
        foreground=_of(Role.PLAIN, dark=dark),
        background=ground,
        surface=ground,
        panel=surface,
        variables={
            "line": line,
            "text-muted": _of(Role.DIM, dark=dark),
            "text-warning": _of(Role.WARN, dark=dark),
        },
    )


def _of(role: Role, *, dark: bool) -> str:
    return role.value.dark if dark else role.value.light


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
