"""Reads plans that are one file, with the documents beside it."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.domain.change.change import Change
from spool.domain.change.plan_file.ids import plan_id, plan_path
from spool.domain.change.tasks import TaskList
from spool.errors import ChangeError, UsageError
from spool.nofollow import Unreadable, read_file
from spool.sources.source import Acceptance, names_in, read_text

_LARGEST_PLAN = 1 << 20

Parse = Callable[[str, Mapping[str, str]], TaskList]
"""Reads the text of a plan, with the documents beside it by name; raises a ChangeError if there is nothing to do."""


def unchanged(text: str, accepted: Acceptance) -> str:  # noqa: ARG001 - the agent ticks the boxes
    """Return the text as it is."""
    return text


class PlanFormat(msgspec.Struct, frozen=True, kw_only=True):
    """A format whose plan is one file."""

    kind: str
    owns: str
    """A pattern of the paths below the project that are plans of this format."""
    places: tuple[tuple[str, str], ...]
    """The usual places: folders, each with a pattern of names; `specs/*` is every folder in `specs`."""
    parse: Parse
    beside: tuple[str, ...] = ()
    """Documents in the same folder that belong into the prompt."""
    recorder: Callable[[str, Acceptance], str] = unchanged
    tool: None = None

    def find(self, root: Path) -> Iterator[str]:
        """Yield the ids of the plans in the usual places."""
        for folder, pattern in self.places:
            for inside in _folders(root, folder):
                paths = (inside / name for name in _names(root / inside) if re.fullmatch(pattern, name, re.IGNORECASE))
                yield from (plan_id(str(path)) for path in paths if _is_plain_file(root / path))

    def holds(self, root: Path, change_id: str) -> bool:  # noqa: ARG002 - a plan that is gone has an error of its own
        """Whether an id is that of a path of this format."""
        path = plan_path(change_id)
        return path is not None and re.fullmatch(self.owns, path, re.IGNORECASE) is not None

    def read(self, root: Path, change_id: str) -> Change:
        """Read a plan with the documents beside it."""
        path = plan_path(change_id) or change_id
        text, folder = plan_text(root / path, path), Path(path).parent
        if not text.strip():
            raise ChangeError(f"{path} is empty", hint="write each task as a list item: - [ ] Add a login form")
        beside = {name: (read_text(root / folder / name) or "").strip() for name in self.beside}
        try:
            tasks = self.parse(text, beside)
        except ChangeError as error:
            raise ChangeError(f"{path} {error}", hint=error.hint) from None
        return Change(
            id=change_id,
            source=self.kind,
            directory=str(folder),
            proposal=text,
            tasks=tasks.text,
            plan_file=path,
            context="\n\n".join(f"`{folder / name}`:\n\n{said}" for name, said in beside.items() if said),
            listed=tasks,
        )

    def paths(self, root: Path, change_id: str) -> list[Path]:
        """Return the file, and the documents beside it."""
        path = root / (plan_path(change_id) or change_id)
        return [path, *(one for name in self.beside if (one := path.parent / name).is_file())]

    def record(self, text: str, accepted: Acceptance) -> str:
        """Return the text with an accepted story."""
        return self.recorder(text, accepted)


def _folders(root: Path, folder: str) -> list[Path]:
    top = Path(folder.removesuffix("/*"))
    return [top / name for name in _names(root / top)] if folder.endswith("/*") else [top]


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _names(folder: Path) -> list[str]:
    with suppress(UsageError, OSError):
        return names_in(folder)
    return []


def plan_text(path: Path, name: str = "") -> str:
    """Return the text of a plan; `name` is what messages call it."""
    name = name or str(path)
    try:
        return read_file(path, most_bytes=_LARGEST_PLAN).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        raise ChangeError(f"the plan {name} no longer exists") from None
    except UnicodeDecodeError as error:
        raise ChangeError(f"{name} is not UTF-8 text (byte {error.start})") from None
    except Unreadable as error:
        raise ChangeError(str(error.strerror)) from None
    except OSError as error:
        raise ChangeError(f"cannot read {name}: {error.strerror}") from None
