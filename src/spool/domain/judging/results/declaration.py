"""The declaration of a test runner's reader; `readers.py` lists all."""

from collections.abc import Callable, Mapping
from re import Pattern

import msgspec

from spool.domain.judging.results.model import Results


class ResultPlace(msgspec.Struct, frozen=True):
    """The absolute paths of a run's results."""

    scratch: str
    """An empty folder of this run; its path holds neither `$` nor `:`."""
    reporters: str
    """The folder `spool/reporters`."""
    command: str = ""
    """The command line of the check."""


class Reader(msgspec.Struct, frozen=True):
    """One test runner."""

    name: str
    """Its files in the scratch folder begin with it and a hyphen."""
    mark: Pattern[str] | None = None
    """Found in a cleaned log that this reader can read."""
    read_log: Callable[[str], Results | None] | None = None
    """Reads what the runner printed, cleaned. A test can forge this by printing."""
    ask: Callable[[ResultPlace, Mapping[str, str]], dict[str, str]] | None = None
    """Returns the variables, added to an environment, that make the runner write files."""
    read_files: Callable[[Mapping[str, bytes], str], Results | None] | None = None
    """Reads the files that the runner wrote, by name; the log shows how often it ran."""
    prints: tuple[str, ...] = ()
    """Other readers that would read this runner's output a second time."""
