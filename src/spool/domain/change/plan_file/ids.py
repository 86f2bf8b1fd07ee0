"""Names a plan file by an id that is safe as a directory's name, and from which its path can be read."""

import re

_PLAN = re.compile(
    r"(?:.*/)?.*\.(?:md|markdown)|(?:.*[/_-])?\.?(?:prd|plan|tasks|features?|feature_list|(?:user[_-]?)?stories|backlog)[^/]*\.json",
    re.IGNORECASE | re.DOTALL,
)
_SEPARATOR = "_-"
_BYTE = "_."
_LEADING = "0_.."
"""Before a path that begins with neither a letter nor a digit; no byte is escaped as `..`."""
_TOKEN = re.compile(r"_-|_\.([0-9a-f]{2})|(.)", re.DOTALL)


def is_plan_name(name: str) -> bool:
    """Whether a name is that of a Markdown file, or of JSON with stories."""
    return _PLAN.fullmatch(name) is not None


def plan_id(path: str) -> str:
    """Return the id of a plan, from its path below the project: `PLAN.md`, or `docs_-PLAN.md` for `docs/PLAN.md`."""
    found = "".join(_escaped(path, at) for at in range(len(path)))
    return found if found[:1].isascii() and found[:1].isalnum() else _LEADING + found


def plan_path(change_id: str) -> str | None:
    """Return the path that an id stands for; None if it is not the id of a plan."""
    if not is_plan_name(change_id):
        return None
    data = bytearray()
    for token in _TOKEN.finditer(change_id.removeprefix(_LEADING)):
        data += bytes.fromhex(token[1]) if token[1] else b"/" if token[0] == _SEPARATOR else token[0].encode()
    try:
        path = data.decode()
    except UnicodeDecodeError:
        return None
    parts = path.split("/")
    return None if "" in parts or ".." in parts or "\0" in path else path


def shown(change_id: str) -> str:
    """Return a change as a person names it: its id, the path of its plan, or the folder that the plan describes."""
    path = plan_path(change_id)
    if path is None:
        return change_id
    folder = path.removesuffix("/tasks.md")
    return folder if folder.rpartition("/")[0].endswith("specs") else path


def _escaped(path: str, at: int) -> str:
    char = path[at]
    if char == "/":
        return _SEPARATOR
    escapes = char == "_" and path[at + 1 : at + 2] in ("-", ".")
    if char.isascii() and (char.isalnum() or char in "._-") and not escapes:
        return char
    return "".join(f"{_BYTE}{byte:02x}" for byte in char.encode())
