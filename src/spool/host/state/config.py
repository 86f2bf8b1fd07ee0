"""Reads settings from the project's file, the user's file and the environment."""

from collections.abc import Mapping
from pathlib import Path

from spool.domain.settings import NAMES, Layer
from spool.errors import UsageError
from spool.host.state.places import user_config

PROJECT_FILE = ".spool/config.toml"


def user_file() -> Path:
    """Return the path of the user's settings."""
    return user_config() / "config.toml"


def read_layers(root: Path | None, environment: Mapping[str, str]) -> list[Layer]:
    """Return the layers by rising precedence: project, user, environment."""
    files = [root / PROJECT_FILE] if root else []
    layers = [layer for path in files if (layer := _file(path, of_repository=True))]
    layers += [layer for path in (user_file(),) if (layer := _file(path))]
    given = {name: environment[_variable(name)] for name in NAMES if environment.get(_variable(name))}
    layers += [Layer(_variable(name), {name: value}) for name, value in given.items()]
    return layers


def _file(path: Path, *, of_repository: bool = False) -> Layer | None:
    import tomllib

    try:
        return Layer(str(path), tomllib.loads(path.read_text("utf-8")), of_repository)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def _variable(name: str) -> str:
    return f"SPOOL_{name.upper()}"
