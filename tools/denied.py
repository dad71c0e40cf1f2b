"""Denies one call at a time, and sees that `redrive doctor` says what it could not see instead of finding a fault.

MiniStack checks no permissions, so a proxy before it does: it hands everything on but the call that is denied.
"""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import faults

CODE, MESSAGE = "AccessDeniedException", "not you"
# What is in the path, the target or the body of the call, and of what the doctor must then say that it was not seen.
DENIED = [
    ("Action=GetTemplate", "the permissions of"),
    ("DescribeAlarms", "alarms"),
    ("/concurrency", "the reserved concurrency of"),
    ("/event-source-mappings", "the event source mappings of"),
    ("/event-invoke-config", "the destinations of"),
    ("/configuration", "the function"),
    ("AmazonSQS.GetQueueAttributes", "the queue"),
]


def check(redrive: Path, endpoint: str, stack: str) -> list[str]:
    """What the doctor found that nobody put there, or did not say."""
    wrong = []
    for call, unseen in DENIED:
        with denying(endpoint, call) as proxy:
            doctor = [redrive, "doctor", "--stack", stack, "--endpoint-url", proxy, "--json"]
            codes, not_seen = faults.found(doctor)
        if codes or not any(note.startswith(unseen) for note in not_seen):
            wrong.append(f"without {call} it found {sorted(codes)}, and did not see {not_seen}")
    return wrong


@contextmanager
def denying(endpoint: str, call: str) -> Iterator[str]:
    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if call in f"{self.path} {self.headers.get('X-Amz-Target')} {body.decode(errors='replace')}":
                self.send(403, *denial(self.headers.get("smithy-protocol"), body))
                return
            request = urllib.request.Request(endpoint + self.path, body or None, dict(self.headers), method=self.command)
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    self.send(response.status, dict(response.headers), response.read())
            except urllib.error.HTTPError as error:
                self.send(error.code, dict(error.headers), error.read())

        do_GET = do_POST = answer

        def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response_only(status)
            own = {"content-length", "transfer-encoding", "connection"}
            for name, value in headers.items():
                if name.lower() not in own:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def denial(protocol: str | None, request: bytes) -> tuple[dict[str, str], bytes]:
    """The refusal, as the protocol of the call has it."""
    if protocol == "rpc-v2-cbor":
        texts = [cbor(text) for text in ("__type", CODE, "message", MESSAGE)]
        return {"smithy-protocol": protocol, "Content-Type": "application/cbor"}, b"\xa2" + b"".join(texts)
    if b"Action=" in request:
        error = f"<Error><Type>Sender</Type><Code>AccessDenied</Code><Message>{MESSAGE}</Message></Error>"
        return {"Content-Type": "text/xml"}, f"<ErrorResponse>{error}</ErrorResponse>".encode()
    body = json.dumps({"__type": CODE, "message": MESSAGE}).encode()
    return {"Content-Type": "application/json", "x-amzn-ErrorType": CODE}, body


def cbor(text: str) -> bytes:
    """A text of less than 24 bytes."""
    return bytes([0x60 + len(text)]) + text.encode()
