"""Sets a repository up: finds out what it is, and writes its settings."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from spool.app.changes.resolver import project_root
from spool.app.machine.agent_programs import usable
from spool.app.machine.trusted_settings import grant, require_person
from spool.app.starting.effective_settings import PROJECT_FILE, resolve_settings
from spool.domain.change.change import ChangeInfo
from spool.domain.change.plan_file.ids import is_plan_name, plan_id
from spool.domain.judging.gates.toolchain import READ, TEST_FOLDERS, Toolchain, is_python_test, toolchain_of
from spool.errors import SpoolError
from spool.harness.registry import BUILT_IN
from spool.host.documents import write_document
from spool.host.git.pointers import top_of
from spool.nofollow import read_file
from spool.sources.project import Project, project_at
from spool.sources.registry import FOLDERS
from spool.sources.source import installed

_LARGEST = 1 << 20
_MOST_TESTS = 50
_PLAN_NAMES = ("plan", "todo", "tasks", "roadmap", "prd", "spec")


class ProjectScan(msgspec.Struct, frozen=True, kw_only=True):
    """A directory as `spool init` finds it."""

    root: Path
    git: bool
    formats: dict[str, str]
    """The formats of plans found here, and what they lack."""
    agents: tuple[str, ...]
    """The installed agents, the likeliest first."""
    toolchain: Toolchain
    configured: bool
    """Whether there are settings already."""
    checked: bool = False
    """Whether a check of the settings runs a command."""
    changes: tuple[ChangeInfo, ...] = ()
    plan: str = ""
    """A plan file at the top, if any."""

    @property
    def settings_file(self) -> Path:
        """The file with the repository's settings."""
        return self.root / PROJECT_FILE


def take_inventory(here: Path) -> ProjectScan:
    """Return what there is around a directory."""
    root = project_root(here)
    project = project_at(root)
    return ProjectScan(
        root=root,
        git=top_of(root) is not None,
        formats=_formats(root),
        agents=_agents(),
        toolchain=toolchain_of(_files(root)),
        configured=os.path.lexists(root / PROJECT_FILE),
        checked=any(gate.run for gate in resolve_settings(root).settings.gates),
        changes=tuple(project.changes()),
        plan=_plan(root),
    )


def _formats(root: Path) -> dict[str, str]:
    """Return the formats with a program of their own: whether they are used here, and whether it is installed."""
    found = {}
    for source in FOLDERS:
        if (tool := source.tool) is not None:
            used = "yes" if installed(tool) else f"yes, but the command {tool.name} is not installed"
            found[source.label] = used if (root / source.home).is_dir() else "no"
    return found


def _agents() -> tuple[str, ...]:
    """Return the agents of this machine: the one that the person's own settings choose, known ones, their own."""
    resolved = resolve_settings(None)
    found = usable(resolved.settings)
    chosen = (resolved.settings.harness,) if resolved.origins["harness"] != "default" else ()
    return tuple(name for name in dict.fromkeys((*chosen, *BUILT_IN, *found)) if name in found)


def _files(root: Path) -> dict[str, str]:
    found = dict.fromkeys(_names(root), "")
    for folder in TEST_FOLDERS:
        found |= {f"{folder}{name}": "" for name in _names(root / folder) if name.endswith(".py")}
    tests = sorted(filter(is_python_test, found))[:_MOST_TESTS]
    for name in (*READ, *tests):
        if name in found:
            with suppress(OSError):
                found[name] = read_file(root / name, most_bytes=_LARGEST).decode("utf-8", "replace")
    return found


def _names(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry.name for entry in entries]
    return []


def _plan(root: Path) -> str:
    """Return the plan file that its name gives away, if there is one."""
    return next((name for name in plans_in(root) if name.lower().startswith(_PLAN_NAMES)), "")


def plans_in(root: Path) -> list[str]:
    """Return the Markdown files at the top of a project and in its docs that have a list of tasks."""
    folders = ("", "docs/") if (root / "docs").is_dir() else ("",)
    found = [f"{inside}{name}" for inside in folders for name in sorted(_markdown(root / inside))]
    return [path for path in found if _is_plan(root, path)]


def _markdown(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry.name for entry in entries if is_plan_name(entry.name) and entry.is_file(follow_symlinks=False)]
    return []


def _is_plan(root: Path, path: str) -> bool:
    with suppress(SpoolError):
        Project(root).read(plan_id(path))
        return True
    return False


def settings_text(agent: str, test: str) -> str:
    """Return the settings of a repository, with comments."""
    lines = ["# Settings of Spool for this repository. `spool config` shows all of them, with their origin.", ""]
    chosen = f'harness = "{agent}"' if agent else '# harness = "claude"'
    lines += [f"{chosen:<28}# the agent; `spool harness list` shows what is installed", ""]
    lines += ["# What must hold before Spool believes that the work is done.", "[[gates]]"]
    built_in = 'name = "tasks"'
    lines += [f"{built_in:<28}# every box of the task list is ticked", ""]
    gate = ["[[gates]]", 'name = "tests"', f"run = {toml_string(test or 'make test')}"]
    missing = ["# No command for the tests was found. Name the one that decides:", *(f"# {one}" for one in gate)]
    lines += gate if test else missing
    return "\n".join(lines) + "\n"


def toml_string(text: str) -> str:
    """Return a text as a string of TOML; JSON's escapes are also TOML's."""
    return msgspec.json.encode(text).decode()


def write_settings(found: ProjectScan, text: str) -> None:
    """Write the settings and trust them."""
    require_person("write the settings")
    write_document(found.settings_file, text)
    grant(found.root)
