"""OpenAI responses: codex."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from tests.harnesses.wire import TOKENS_CACHED, TOKENS_IN, Answer, Frame, Json, Request, Said, Tool, flat
from tests.harnesses.wire.openai_chat import error as error


def request(body: Json, *, model: str, stream: bool) -> Request:
    asked = body.get("input")
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked or []
    return Request(
        messages=(Said("system", flat(body.get("instructions"))), *map(_said, items)),
        tools=tuple(_tools(body.get("tools") or [])),
        stream=bool(body.get("stream")) or stream,
        model=str(body.get("model", model)),
    )


def _said(item: Json) -> Said:
    kind = str(item.get("type", "message"))
    if kind.endswith("_call"):
        return Said("call")
    if kind.endswith("_output"):
        return Said("result", flat(item.get("output")))
    text = flat(item.get("content"))
    match item.get("role"):
        case "user":
            return Said("user", text)
        case "assistant":
            return Said("assistant", text)
    return Said("system", text)


def _tools(entries: list[Json]) -> Iterator[Tool]:
    for entry in entries:
        if entry.get("type") == "namespace":
            yield from _tools(entry.get("tools", []))
        elif entry.get("type") in ("function", "custom"):
            yield Tool(entry["name"], entry.get("parameters") or {}, freeform=entry["type"] == "custom")


def frames(answer: Answer, model: str) -> Iterator[Frame]:
    numbers = count()

    def event(kind: str, **more: object) -> Frame:
        return Frame({"type": kind, "sequence_number": next(numbers), **more}, kind)

    final = whole(answer, model)
    begun = {**final, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for index, item in enumerate(final["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        if item["type"] == "message":
            for piece in answer.pieces():
                yield event("response.output_text.delta", content_index=0, delta=piece, **place)
            yield event("response.output_text.done", content_index=0, text=answer.text, **place)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=final)


def whole(answer: Answer, model: str) -> Json:
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "model": model,
        "output": _items(answer),
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": TOKENS_IN,
            "input_tokens_details": {"cached_tokens": TOKENS_CACHED},
            "output_tokens": answer.tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": TOKENS_IN + answer.tokens_out,
        },
    }


def _items(answer: Answer) -> list[Json]:
    items: list[Json] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append(
            {
                "type": "message",
                "id": f"msg_{answer.id}",
                "status": "completed",
                "role": "assistant",
                "content": content,
            }
        )
    if call := answer.call:
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{answer.id}",
                "status": "completed",
                "call_id": f"call_{answer.id}",
                "name": call.tool.name,
                "arguments": call.text,
            }
        )
    return items
