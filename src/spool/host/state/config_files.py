"""Reads settings from the project's file, the user's file and the environment."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from spool.domain.loop.settings import NAMES, Layer
from spool.errors import UsageError
from spool.host.state.places import user_config
from spool.host.state.trust_record import main_checkout
from spool.nofollow import Unreadable, read_file, read_linked

PROJECT_FILE = ".spool/config.toml"


def user_file() -> Path:
    """Return the path of the user's settings."""
    return user_config() / "config.toml"


def read_layers(root: Path | None, environment: Mapping[str, str]) -> list[Layer]:
    """Return the layers by rising precedence: main checkout, worktree, user, environment."""
    projects = [main, root] if root and (main := main_checkout(root)) else [root] if root else []
    layers = [layer for layer in (*map(_project, projects), _file(user_file(), read_linked)) if layer]
    given = {name: environment[_variable(name)] for name in NAMES if environment.get(_variable(name))}
    layers += [Layer(_variable(name), {name: value}) for name, value in given.items()]
    return layers


def _project(root: Path) -> Layer | None:
    layer = _file(root / PROJECT_FILE, read_file)
    return layer and msgspec.structs.replace(layer, of_repository=True)


def _file(path: Path, read: Callable[[Path], bytes]) -> Layer | None:
    import tomllib

    try:
        return Layer(str(path), tomllib.loads(read(path).decode("utf-8")))
    except FileNotFoundError:
        return None
    except Unreadable as error:
        raise UsageError(str(error.strerror)) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def _variable(name: str) -> str:
    return f"SPOOL_{name.upper()}"
