"""Denies one call at a time, and sees that `redrive doctor` says what it could not see instead of finding a fault.

MiniStack checks no permissions, so a proxy before it does: it hands everything on but the call that is denied.
"""

import json
from pathlib import Path

import faults
import proxy

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
        with proxy.before(endpoint, denying(call)) as denied:
            doctor = [redrive, "doctor", "--stack", stack, "--endpoint-url", denied.url, "--json"]
            codes, not_seen = faults.found(doctor)
        if codes or not any(note.startswith(unseen) for note in not_seen):
            wrong.append(f"without {call} it found {sorted(codes)}, and did not see {not_seen}")
    return wrong


def denying(wanted: str) -> proxy.Fate:
    def fate(call: proxy.Call, forward: proxy.Forward) -> proxy.Answer:
        target, body = call.headers.get("x-amz-target"), call.body.decode(errors="replace")
        if wanted in f"{call.path} {target} {body}":
            return proxy.Answer(403, *denial(call.headers.get("smithy-protocol"), call.body))
        return forward(call)

    return fate


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
