"""What goes wrong with a call on its way: fates for a proxy."""

import json
import threading
from dataclasses import replace

from proxy import Answer, Call, Fate, Forward, error

# What only looks.
READING = {"GetQueueUrl", "GetQueueAttributes", "ListDeadLetterSourceQueues"}
MOVING = {"SendMessage", "SendMessageBatch", "DeleteMessage", "DeleteMessageBatch"}


def refused(action: str, code: str, status: int = 400) -> Fate:
    """Nothing is done."""

    def fate(call: Call, forward: Forward) -> Answer:
        return error(status, code, "a fault") if call.action == action else forward(call)

    return fate


def entries_refused(action: str, places: set[int], code: str) -> Fate:
    """The entries at these places of the first such batch are not done."""
    first = Once()

    def fate(call: Call, forward: Forward) -> Answer:
        if call.action != action or not first.is_now():
            return forward(call)
        kept = [entry for at, entry in enumerate(call.entries) if at not in places]
        answer = forward(replace(call, body=json.dumps({**call.input, "Entries": kept}).encode()))
        refused = [
            {"Id": entry["Id"], "Code": code, "Message": "a fault", "SenderFault": True}
            for at, entry in enumerate(call.entries)
            if at in places
        ]
        output = {**answer.output, "Failed": answer.output.get("Failed", []) + refused}
        return replace(answer, body=json.dumps(output).encode())

    return fate


def answer_lost(action: str) -> Fate:
    """It is done, and nobody hears of it."""

    def fate(call: Call, forward: Forward) -> Answer | None:
        answer = forward(call)
        return None if call.action == action else answer

    return fate


class Held:
    """The fate of a proxy that holds the calls of an action, all but the first few, until it is let go."""

    def __init__(self, action: str, after: int = 0):
        self.action, self.after = action, after
        self.came, self.free = threading.Event(), threading.Event()
        self.lock, self.count = threading.Lock(), 0

    def __call__(self, call: Call, forward: Forward) -> Answer:
        if call.action == self.action:
            with self.lock:
                self.count += 1
                holds = self.count > self.after
            if holds:
                self.came.set()
                self.free.wait(30)
        return forward(call)


class Once:
    def __init__(self):
        self.lock, self.was = threading.Lock(), False

    def is_now(self) -> bool:
        with self.lock:
            was, self.was = self.was, True
        return not was
