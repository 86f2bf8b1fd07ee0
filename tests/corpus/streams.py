"""Encodes a row of the blind corpus as the output of several agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Row = dict[str, Any]
_TOOL = "a tool"


def _lines(events: Iterator[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in events)


def claude(row: Row) -> bytes:
    def events() -> Iterator[dict[str, Any]]:
        last = ""
        for number, step in enumerate(row["steps"]):
            if "message" in step:
                last = step["message"]
                yield _claude("assistant", {"type": "text", "text": last})
            elif "thinking" in step:
                yield _claude("assistant", {"type": "thinking", "thinking": step["thinking"]})
            elif "tool" in step or "todo" in step:
                name, given = ("TodoWrite", step["todo"]) if "todo" in step else (step["tool"] or _TOOL, step["input"])
                block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": {"command": given}}
                yield _claude("assistant", block)
            elif "result" in step:
                yield _claude("user", {"type": "tool_result", "tool_use_id": "t", "content": step["result"]})
            elif "subagent" in step:
                yield _claude("assistant", {"type": "text", "text": step["subagent"]}, parent="t")
        yield {"type": "result", "subtype": "success", "is_error": False, "result": last, "session_id": "s"}

    return _lines(events())


def _claude(kind: str, block: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": kind, "message": {"role": kind, "content": [block]}, "parent_tool_use_id": parent}


def opencode(row: Row) -> bytes:
    def events() -> Iterator[dict[str, Any]]:
        for number, step in enumerate(row["steps"]):
            part: dict[str, Any] = {"id": f"p{number}"}
            if "message" in step:
                yield {"type": "text", "part": {**part, "type": "text", "text": step["message"]}}
            elif "tool" in step or "todo" in step:
                tool = "todowrite" if "todo" in step else step["tool"] or _TOOL
                given = step.get("todo") or step.get("input")
                state = {"status": "completed", "input": {"command": given}, "output": ""}
                yield {"type": "tool_use", "part": {**part, "type": "tool", "tool": tool, "state": state}}
        tokens = {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        yield {"type": "step_finish", "part": {"type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0}}

    return _lines(events())


def codex(row: Row) -> bytes:
    def events() -> Iterator[dict[str, Any]]:
        yield {"type": "thread.started", "thread_id": "s"}
        for number, step in enumerate(row["steps"]):
            item: dict[str, Any] = {"id": f"i{number}"}
            if "message" in step:
                yield {"type": "item.completed", "item": {**item, "type": "agent_message", "text": step["message"]}}
            elif "thinking" in step:
                yield {"type": "item.completed", "item": {**item, "type": "reasoning", "text": step["thinking"]}}
            elif "todo" in step:
                yield {"type": "item.completed", "item": {**item, "type": "todo_list"}}
            elif "tool" in step:
                run = {**item, "type": "command_execution", "command": str(step["input"]), "status": "completed"}
                yield {"type": "item.completed", "item": run}
        yield {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}

    return _lines(events())


def gemini(row: Row) -> bytes:
    def events() -> Iterator[dict[str, Any]]:
        yield {"type": "init", "session_id": "s", "model": "m"}
        for number, step in enumerate(row["steps"]):
            if "message" in step:
                text = step["message"]
                for start in range(0, len(text), 7):  # deltas, which split a tag
                    yield {"type": "message", "role": "assistant", "content": text[start : start + 7], "delta": True}
            elif "tool" in step or "todo" in step:
                name, given = (
                    ("write_todos", step["todo"]) if "todo" in step else (step["tool"] or _TOOL, step["input"])
                )
                use = {"tool_name": name, "tool_id": f"t{number}", "parameters": {"command": given}}
                yield {"type": "tool_use", **use}
                yield {"type": "tool_result", "tool_id": f"t{number}", "status": "success", "output": ""}
        yield {"type": "result", "status": "success", "stats": {}}

    return _lines(events())


def plain(row: Row) -> bytes | None:
    """Return the row as plain text; None where it holds more than messages, which plain text cannot set apart."""
    if any(not {"message", "stderr"} & step.keys() for step in row["steps"]):
        return None
    messages = [step["message"] for step in row["steps"] if "message" in step]
    return "\n".join(messages).encode() + b"\n" if len(messages) == 1 else None


ENCODERS: dict[str, Callable[[Row], bytes | None]] = {
    "claude": claude,
    "opencode": opencode,
    "codex": codex,
    "gemini": gemini,
    "command": plain,
}
