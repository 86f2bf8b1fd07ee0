"""Gemini's generateContent: gemini."""

from __future__ import annotations

from collections.abc import Iterator

from tests.harnesses.wire import TOKENS_CACHED, TOKENS_IN, Answer, Frame, Json, Request, Said, Tool, flat

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
}


def request(body: Json, *, model: str, stream: bool) -> Request:
    system = (body.get("systemInstruction") or {}).get("parts")
    config = body.get("generationConfig") or {}
    return Request(
        messages=(Said("system", flat(system)), *map(_said, body.get("contents", []))),
        tools=tuple(
            Tool(entry["name"], entry.get("parametersJsonSchema") or entry.get("parameters") or {})
            for group in body.get("tools") or []
            for entry in group.get("functionDeclarations") or []
        ),
        stream=stream,
        model=model,
        wants_json=config.get("responseMimeType") == "application/json",
    )


def _said(content: Json) -> Said:
    parts = content.get("parts") or []
    if content.get("role") == "model":
        return Said("call" if any("functionCall" in part for part in parts) else "assistant", flat(parts))
    return Said("result" if any("functionResponse" in part for part in parts) else "user", flat(parts))


def frames(answer: Answer, model: str) -> Iterator[Frame]:
    *first, last = answer.pieces() or [""]
    for piece in first:
        yield Frame(_response(answer, [{"text": piece}], model, over=False))
    yield Frame(_response(answer, _parts(last, answer), model, over=True))


def whole(answer: Answer, model: str) -> Json:
    return _response(answer, _parts(answer.text, answer), model, over=True)


def error(status: int, message: str) -> Json:
    return {"error": {"code": status, "message": message, "status": _STATUS.get(status, "INTERNAL")}}


def _parts(text: str, answer: Answer) -> list[Json]:
    parts: list[Json] = [{"text": text}] if text else []
    if call := answer.call:
        parts.append({"functionCall": {"name": call.tool.name, "args": call.arguments}})
    return parts


def _response(answer: Answer, parts: list[Json], model: str, *, over: bool) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if over:
        candidate["finishReason"] = "STOP"
    return {
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": answer.id,
        "usageMetadata": {
            "promptTokenCount": TOKENS_IN,
            "cachedContentTokenCount": TOKENS_CACHED,
            "candidatesTokenCount": answer.tokens_out,
            "totalTokenCount": TOKENS_IN + answer.tokens_out,
        },
    }
