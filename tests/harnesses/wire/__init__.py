"""The four ways in which agents talk to a model. Each module reads a request and writes an answer, no more."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Json = dict[str, Any]
Role = Literal["system", "user", "assistant", "call", "result"]
TOKENS_IN, TOKENS_CACHED = 1_200, 200


@dataclass(frozen=True)
class Said:
    """One message of a conversation; `call` is an assistant's message that calls a tool."""

    role: Role
    text: str = ""


@dataclass(frozen=True)
class Tool:
    """A tool that the agent offers to the model."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    freeform: bool = False


@dataclass(frozen=True)
class Request:
    """What an agent asks, in terms that all four protocols share."""

    messages: tuple[Said, ...]
    tools: tuple[Tool, ...] = ()
    stream: bool = False
    model: str = ""
    wants_json: bool = False


@dataclass(frozen=True)
class Call:
    """A tool call."""

    tool: Tool
    arguments: Json

    @property
    def text(self) -> str:
        return json.dumps(self.arguments)


@dataclass(frozen=True)
class Answer:
    """What the model says, and the tool that it calls."""

    text: str = ""
    call: Call | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:20])

    @property
    def tokens_out(self) -> int:
        return len(self.text) // 4 + (20 if self.call else 0) + 1

    def pieces(self) -> list[str]:
        """Cut the text so that a promise is split between two events; long text in about fifty pieces."""
        return cut(self.text)


@dataclass(frozen=True)
class Frame:
    """One server-sent event."""

    data: Json | str
    event: str = ""

    def encode(self) -> bytes:
        head = f"event: {self.event}\n" if self.event else ""
        body = self.data if isinstance(self.data, str) else json.dumps(self.data)
        return f"{head}data: {body}\n\n".encode()


class Wire(Protocol):
    """One protocol."""

    def request(self, body: Json, *, model: str, stream: bool) -> Request: ...

    def frames(self, answer: Answer, model: str) -> Iterator[Frame]: ...

    def whole(self, answer: Answer, model: str) -> Json: ...

    def error(self, status: int, message: str) -> Json: ...


def cut(text: str) -> list[str]:
    size = max(24, len(text) // 50)
    return [text[start : start + size] for start in range(0, len(text), size)]


def flat(content: object) -> str:
    """Return the text in any of the shapes that content has."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return str(content.get("text", ""))
    if isinstance(content, list):
        return "\n".join(flat(part) for part in content)
    return ""


def kinds(content: object) -> set[str]:
    """Return the types of the parts that content is made of."""
    return {str(part.get("type")) for part in content} if isinstance(content, list) else set()


ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
