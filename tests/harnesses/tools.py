"""Turns a step of the script into a call of whichever tool the agent under test has for it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never

from tests.harnesses.script import Say, Shell, Turn, Write
from tests.harnesses.wire import Answer, Call, Json, Request, Tool

_SHELLS = ("bash", "shell", "exec_command", "shell_command", "run_shell_command", "local_shell")
_WRITERS = ("write", "write_file", "create")
_MEANINGS = {
    "command": ("command", "cmd"),
    "path": ("filePath", "file_path", "path"),
    "content": ("content", "file_text"),
}
_EMPTY: dict[str, Any] = {"string": "test", "boolean": False, "number": 1, "integer": 1, "array": [], "object": {}}


def perform(turn: Turn, request: Request, directory: Path, *, toolless: bool = False) -> Answer:
    """Return the answer that carries out one turn."""
    match turn:
        case Say():
            return Answer(turn.whole())
        case Write() if toolless:
            return Answer(f"{turn.path}\n```\n{turn.content}```\n")
        case Write():
            path = str(directory / turn.path)
            if writer := _find(request.tools, _WRITERS):
                return Answer(call=_call(writer, path=path, content=turn.content))
            return _shell(request, f"printf %s {shlex.quote(turn.content)} > {shlex.quote(path)}")
        case Shell():
            return _shell(request, turn.command, turn.say)
        case _:
            assert_never(turn)


def _shell(request: Request, command: str, say: str = "") -> Answer:
    shell = _find(request.tools, _SHELLS)
    if shell is None:
        return Answer(f"{say}\nI have no shell.")
    return Answer(say, _call(shell, command=command))


def _find(tools: tuple[Tool, ...], names: tuple[str, ...]) -> Tool | None:
    by_name = {tool.name.lower(): tool for tool in tools if not tool.freeform}
    return next((by_name[name] for name in names if name in by_name), None)


def _call(tool: Tool, **meant: str) -> Call:
    """Fill in the tool's arguments by their names, and the other required ones by their types."""
    values = {name: meant[meaning] for meaning in meant for name in _MEANINGS[meaning]}
    required = tool.schema.get("required") or []
    arguments: Json = {}
    for name, schema in (tool.schema.get("properties") or {}).items():
        if name in values:
            arguments[name] = ["bash", "-lc", values[name]] if _type(schema) == "array" else values[name]
        elif name in required:
            arguments[name] = (schema.get("enum") or [_EMPTY.get(_type(schema), "test")])[0]
    return Call(tool, arguments)


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "string")
    return str(kind[0] if isinstance(kind, list) else kind).lower()
