"""A model on loopback: it plays a script to a real agent, over whichever of four protocols the agent speaks.

It keeps no count of a run's turns. The number of the iteration stands in Spool's prompt, and the tool calls since that
prompt say how far the run has come; so an agent that repeats a request gets the same answer again.
"""

from __future__ import annotations

import gzip
import json
import re
import select
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.harnesses.script import Fault, Run, Say
from tests.harnesses.tools import perform
from tests.harnesses.wire import Answer, Json, Request, Wire, anthropic, gemini, openai_chat, openai_responses

_ITERATION = re.compile(r"(?:Spool loop: |\()iteration (\d+)(?:\n| of the loop)")
"""How the prompts of `ralph` and of `run` tell it."""
_GEMINI_PATH = re.compile(r"/models/([^/:]+):(\w+)$")
_SIDE_TEXT = "A short answer to a side question"
# gemini asks small models who speaks next and which model to take.
_SIDE_JSON = {"reasoning": "none", "next_speaker": "user", "model_choice": "flash", "complexity_score": 1}


@dataclass(frozen=True)
class Asked:
    """One request as the server understood it, for tests to look at."""

    path: str
    run: int
    step: int
    tools: tuple[str, ...]
    did: str
    heard: str = ""
    """The end of the conversation, such as a tool's result."""
    iterations: tuple[int, ...] = ()
    """Which of Spool's prompts the conversation holds: more than one if the agent remembers."""
    longest: int = 0
    """Characters of the longest message."""


class ModelServer:
    """The model: a script, and what was asked of it."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.toolless = False
        """Whether the agent under test edits by writing text, as aider does."""
        self._directory = directory
        self._runs: tuple[Run, ...] = ()
        self._faults: Counter[int] = Counter()
        self._last_run = 1
        self._lock = threading.Lock()
        self.closing = threading.Event()

    def play(self, *runs: Run) -> None:
        """Set what happens in each iteration; the last run repeats."""
        self._runs = runs

    def respond(self, request: Request, path: str) -> Answer | Fault:
        """Choose the answer to a request."""
        if not request.tools and not self.toolless:
            self._note(path, request, 0, 0, "side question")
            return Answer(json.dumps(_SIDE_JSON) if request.wants_json else _SIDE_TEXT)
        number, step = self._place(request)
        run = self._runs[min(number, len(self._runs)) - 1]
        if fault := self._fault(run, number, step):
            self._note(path, request, number, step, f"fault {fault.status}")
            return fault
        if self.toolless:
            answer = Answer(
                "\n".join(perform(turn, request, self._directory, toolless=True).text for turn in run.turns)
            )
        elif step < 0:
            # The agent has compacted its history and goes on: only the end of what was said is repeated.
            last = run.turns[-1]
            answer = Answer(last.text if isinstance(last, Say) else "")
        else:
            answer = perform(run.turns[min(step, len(run.turns) - 1)], request, self._directory)
        self._note(path, request, number, step, f"call {answer.call.tool.name}" if answer.call else "text")
        return answer

    def _place(self, request: Request) -> tuple[int, int]:
        """Return the iteration that asks, and how many tool calls it has made; -1 if its prompt is gone."""
        for index in range(len(request.messages) - 1, -1, -1):
            said = request.messages[index]
            if said.role != "user" or not (found := _ITERATION.findall(said.text)):
                continue
            self._last_run = int(found[-1])
            return self._last_run, sum(later.role == "call" for later in request.messages[index:])
        return self._last_run, -1

    def _fault(self, run: Run, number: int, step: int) -> Fault | None:
        fault = run.fault
        if fault is None or step != fault.at:
            return None
        with self._lock:
            if fault.times is not None and self._faults[number] >= fault.times:
                return None
            self._faults[number] += 1
        return fault

    def _note(self, path: str, request: Request, run: int, step: int, did: str) -> None:
        prompts = [_ITERATION.findall(said.text) for said in request.messages if said.role == "user"]
        self.asked.append(
            Asked(
                path,
                run,
                step,
                tools=tuple(tool.name for tool in request.tools),
                did=did,
                heard=request.messages[-1].text[-3_000:] if request.messages else "",
                iterations=tuple(int(found[-1]) for found in prompts if found),
                longest=max((len(said.text) for said in request.messages), default=0),
            )
        )


@contextmanager
def model_server(directory: Path) -> Iterator[ModelServer]:
    """Serve on a free port of loopback until the context ends."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    model = ModelServer(f"http://127.0.0.1:{http.server_address[1]}", directory)
    _Handler.models[http.server_address[1]] = model
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    models: dict[int, ModelServer] = {}  # noqa: RUF012 - one entry for each server of the process, by port

    @property
    def _model(self) -> ModelServer:
        return self.models[self.server.server_address[1]]  # type: ignore[index]

    def do_GET(self) -> None:
        names = [{"id": "test-model", "object": "model", "type": "model", "display_name": "Test", "owned_by": "test"}]
        self._json(200, {"object": "list", "data": names, "models": [], "has_more": False})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        body = self._body()
        found = _protocol(path)
        if found is None:
            self._json(200 if "count" in path.lower() else 404, {"input_tokens": 1_200, "totalTokens": 1_200})
            return
        wire, model, stream = found
        request = wire.request(body, model=model, stream=stream)
        answer = self._model.respond(request, path)
        if isinstance(answer, Fault) and not answer.cut:
            self._fail(wire, answer)
        elif isinstance(answer, Fault):
            self._stream(wire, Answer("This will be cut"), request, frames=2)
        elif request.stream:
            self._stream(wire, answer, request)
        else:
            self._json(200, wire.whole(answer, request.model))

    def _body(self) -> Json:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            data = b"".join(iter(self._chunk, b""))
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            body: Json = json.loads(data or b"{}")
        except ValueError:
            return {}
        return body

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().partition(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def _fail(self, wire: Wire, fault: Fault) -> None:
        if fault.hang:
            self._hang()
            return
        headers = {"retry-after": str(fault.retry_after)} if fault.retry_after is not None else {}
        message = fault.message or f"the model says no ({fault.status})"
        self._json(fault.status, wire.error(fault.status, message), headers)

    def _hang(self) -> None:
        """Answer nothing until the agent, or the test, has had enough."""
        while not self._model.closing.wait(0.1):
            if select.select([self.connection], [], [], 0)[0]:
                break
        self.close_connection = True

    def _stream(self, wire: Wire, answer: Answer, request: Request, frames: int | None = None) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for number, frame in enumerate(wire.frames(answer, request.model)):
                if frames is not None and number >= frames:
                    self.close_connection = True
                    self.connection.shutdown(2)
                    return
                data = frame.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        try:
            self.send_response(status)
            for name, value in {"content-type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on standard error."""


def _protocol(path: str) -> tuple[Wire, str, bool] | None:
    """Return the protocol that a path belongs to, with the model and the streaming that only gemini puts there."""
    if path.endswith("/chat/completions"):
        return openai_chat, "", False
    if path.endswith("/responses"):
        return openai_responses, "", False
    if path.endswith("/messages"):
        return anthropic, "", False
    if (found := _GEMINI_PATH.search(path)) and found[2].endswith("enerateContent"):
        return gemini, found[1], found[2].startswith("stream")
    return None
