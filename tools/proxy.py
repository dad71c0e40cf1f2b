"""A proxy of loopback before an endpoint of AWS: it writes every call down, and lets some go wrong."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# What a proxy sets anew on each side of it.
HOP = {"connection", "content-length", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    # By their names in lower case.
    headers: dict[str, str]
    body: bytes

    @cached_property
    def action(self) -> str:
        """Such as SendMessageBatch; empty where the protocol says it elsewhere."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]

    @cached_property
    def input(self) -> dict:
        return json.loads(self.body or b"{}")

    @property
    def entries(self) -> list[dict]:
        """Of a batch."""
        return self.input.get("Entries", [])


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def output(self) -> dict:
        return json.loads(self.body or b"{}")


Forward = Callable[[Call], Answer]
# What becomes of a call: an answer, or none at all.
Fate = Callable[[Call, Forward], Answer | None]


@dataclass
class Proxy:
    url: str
    # Each call twice: when it came, with no answer, and when it was answered.
    log: list[tuple[Call, Answer | None]] = field(default_factory=list)

    @property
    def calls(self) -> list[Call]:
        return [call for call, answer in self.log if answer is None]


def handed_on(call: Call, forward: Forward) -> Answer | None:
    """The fate of a proxy that only listens."""
    return forward(call)


@contextmanager
def before(endpoint: str, fate: Fate = handed_on) -> Iterator[Proxy]:
    """A proxy that hands calls on to the endpoint, as its fate has it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Small answers must not wait for an acknowledgement.
        disable_nagle_algorithm = True

        def handle_call(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            call = Call(self.command, self.path, headers, body)
            proxy.log.append((call, None))
            answer = fate(call, lambda call: forward(endpoint, call))
            if answer is None:
                self.close_connection = True
                return
            proxy.log.append((call, answer))
            self.send_response_only(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_DELETE = do_GET = do_POST = do_PUT = handle_call

        def log_message(self, *_) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_) -> None:
            """A client that went away has what it wanted."""

    server = Server(("127.0.0.1", 0), Handler)
    proxy = Proxy(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def forward(endpoint: str, call: Call) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=60)
    try:
        headers = {name: value for name, value in call.headers.items() if name not in HOP}
        connection.request(call.method, call.path, call.body or None, headers)
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())
    finally:
        connection.close()


def error(status: int, code: str, message: str) -> Answer:
    """An error in the protocol of SQS."""
    body = json.dumps({"__type": code, "message": message}).encode()
    return Answer(status, {"Content-Type": "application/x-amz-json-1.0", "x-amzn-ErrorType": code}, body)
