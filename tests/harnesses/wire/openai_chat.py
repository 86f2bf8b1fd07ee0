"""OpenAI chat completions: opencode, copilot, qwen, pi and aider."""

from __future__ import annotations

from collections.abc import Iterator

from tests.harnesses.wire import (
    ERROR_TYPES,
    TOKENS_CACHED,
    TOKENS_IN,
    Answer,
    Frame,
    Json,
    Request,
    Said,
    Tool,
    cut,
    flat,
)


def request(body: Json, *, model: str, stream: bool) -> Request:
    return Request(
        messages=tuple(_said(message) for message in body.get("messages", [])),
        tools=tuple(
            Tool(entry["function"]["name"], entry["function"].get("parameters") or {})
            for entry in body.get("tools") or []
            if "function" in entry
        ),
        stream=bool(body.get("stream")) or stream,
        model=str(body.get("model", model)),
    )


def _said(message: Json) -> Said:
    text = flat(message.get("content"))
    match message.get("role"):
        case "assistant":
            return Said("call" if message.get("tool_calls") else "assistant", text)
        case "tool":
            return Said("result", text)
        case "user":
            return Said("user", text)
    return Said("system", text)


def frames(answer: Answer, model: str) -> Iterator[Frame]:
    def chunk(delta: Json, reason: str | None = None) -> Frame:
        return Frame({**_head(answer, model, "chat.completion.chunk"), "choices": [_choice(delta, reason)]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in answer.pieces():
        yield chunk({"content": piece})
    if call := answer.call:
        function = {"name": call.tool.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": 0, "id": f"call_{answer.id}", "type": "function", "function": function}]})
        for piece in cut(call.text):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield chunk({}, _reason(answer))
    yield Frame({**_head(answer, model, "chat.completion.chunk"), "choices": [], "usage": _usage(answer)})
    yield Frame("[DONE]")


def whole(answer: Answer, model: str) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if call := answer.call:
        function = {"name": call.tool.name, "arguments": call.text}
        message["tool_calls"] = [{"id": f"call_{answer.id}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": _reason(answer)}
    return {**_head(answer, model, "chat.completion"), "choices": [choice], "usage": _usage(answer)}


def error(status: int, message: str) -> Json:
    kind = ERROR_TYPES.get(status, "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def _head(answer: Answer, model: str, kind: str) -> Json:
    return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": 1_700_000_000, "model": model}


def _choice(delta: Json, reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _reason(answer: Answer) -> str:
    return "tool_calls" if answer.call else "stop"


def _usage(answer: Answer) -> Json:
    return {
        "prompt_tokens": TOKENS_IN,
        "completion_tokens": answer.tokens_out,
        "total_tokens": TOKENS_IN + answer.tokens_out,
        "prompt_tokens_details": {"cached_tokens": TOKENS_CACHED},
    }
