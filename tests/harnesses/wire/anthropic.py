"""Anthropic messages: claude."""

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
    kinds,
)


def request(body: Json, *, model: str, stream: bool) -> Request:
    return Request(
        messages=(Said("system", flat(body.get("system"))), *map(_said, body.get("messages", []))),
        tools=tuple(
            Tool(entry["name"], entry["input_schema"]) for entry in body.get("tools") or [] if "input_schema" in entry
        ),
        stream=bool(body.get("stream")) or stream,
        model=str(body.get("model", model)),
    )


def _said(message: Json) -> Said:
    content = message.get("content")
    if message.get("role") == "assistant":
        return Said("call" if "tool_use" in kinds(content) else "assistant", flat(content))
    return Said("result" if "tool_result" in kinds(content) else "user", flat(content))


def frames(answer: Answer, model: str) -> Iterator[Frame]:
    def event(kind: str, **more: object) -> Frame:
        return Frame({"type": kind, **more}, kind)

    final = whole(answer, model)
    yield event("message_start", message={**final, "content": [], "stop_reason": None})
    for index, block in enumerate(final["content"]):
        if block["type"] == "text":
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in answer.pieces()]
        else:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            assert answer.call is not None
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in cut(answer.call.text)]
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {"stop_reason": final["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ending, usage={"output_tokens": answer.tokens_out})
    yield event("message_stop")


def whole(answer: Answer, model: str) -> Json:
    content: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    if call := answer.call:
        content.append(
            {"type": "tool_use", "id": f"toolu_{answer.id}", "name": call.tool.name, "input": call.arguments}
        )
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if answer.call else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": TOKENS_IN - TOKENS_CACHED,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": TOKENS_CACHED,
            "output_tokens": answer.tokens_out,
        },
    }


def error(status: int, message: str) -> Json:
    return {"type": "error", "error": {"type": ERROR_TYPES.get(status, "api_error"), "message": message}}
