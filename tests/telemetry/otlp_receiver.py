"""A real OTLP receiver: `python -m tests.telemetry.otlp_receiver FILE` prints its port, and writes JSON."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS: dict[str, Any] = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
_WRITING = Lock()


class Receiver(BaseHTTPRequestHandler):
    """Decodes requests and appends them to a file."""

    file: Path

    def do_POST(self) -> None:
        kind = KINDS.get(self.path)
        if kind is None or self.headers["Content-Type"] != "application/x-protobuf":
            self.send_error(400)
            return
        request = kind.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        line = json.dumps({"path": self.path, "request": MessageToDict(request)}) + "\n"
        with _WRITING, self.file.open("a") as file:
            file.write(line)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing: standard output has the port alone."""


def main() -> None:
    Receiver.file = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
