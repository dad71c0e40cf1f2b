"""The scenarios that are measured, each a function of a contender's command."""

import time
from collections.abc import Callable
from typing import NamedTuple

from client import Client, cpu, environment, percentile
from server import Server

Figures = dict[str, float]

STEADY_WARM_UP = 1_000
RATE = 200
IDLE_SECONDS = 60
MOST_WAITING = 20_000
OF_A_WORKER = {
    f"sqs.{verb}"
    for verb in (
        "GetQueueAttributes",
        "ReceiveMessage",
        "DeleteMessage",
        "DeleteMessageBatch",
        "ChangeMessageVisibility",
        "ChangeMessageVisibilityBatch",
    )
}
# Time limit of a wait, in seconds.
PATIENCE = 300


class Moment(NamedTuple):
    at: float
    cpu: float
    server_cpu: float
    done: int
    requests: int


def moment(server: Server, client: Client) -> Moment:
    client.check()
    totals = server.totals()
    named = totals["aws_calls"].items()
    of_client = sum(calls for name, calls in named if name in OF_A_WORKER)
    return Moment(time.monotonic(), client.cpu(), cpu(server.process.pid), totals["done"], of_client)


def wait_for(server: Server, client: Client, is_it: Callable[[Moment], bool]) -> Moment:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        now = moment(server, client)
        if is_it(now):
            return now
        time.sleep(0.01)
    raise TimeoutError(f"a worker does not get on: {now}")


def start(server: Server, command: list[str], wait: int, warm_up: int = 0, messages: int = 0) -> Client:
    """Starts a worker that prints how long the messages after the warm-up took."""
    values = {"HANDLER_MS": wait, "WARM_UP": warm_up, "MESSAGES": messages}
    return Client(command, environment(server.url, server.queue_url, **values))


def between(before: Moment, after: Moment) -> Figures:
    messages, seconds = after.done - before.done, after.cpu - before.cpu
    return {
        "per_cpu_second": messages / seconds,
        "cpu_us": seconds / messages * 1e6,
        "per_second": messages / (after.at - before.at),
        "requests": (after.requests - before.requests) / messages,
        "server_cpu_us": (after.server_cpu - before.server_cpu) / messages * 1e6,
    }


def load(serve: str, command: list[str], wait: int, messages: int) -> Figures:
    """Measures a worker that starts after all messages were sent. Half as many more warm up its compiler."""
    warm_up = messages // 2
    with Server(serve) as server:
        for _ in range((warm_up + messages) // 10):
            server.send_ten()
        with start(server, command, wait) as client:
            before = wait_for(server, client, lambda now: now.done >= warm_up)
            after = wait_for(server, client, lambda now: now.done == warm_up + messages)
            return {**between(before, after), "peak_mib": client.memory()[1]}


def steady(serve: str, command: list[str], wait: int, messages: int) -> Figures:
    """Measures one message after the other, at a rate that all contenders can easily handle."""
    total = STEADY_WARM_UP + messages
    with Server(serve) as server, start(server, command, wait, STEADY_WARM_UP, total) as client:
        wait_for(server, client, lambda now: now.requests > 0)
        begun = time.monotonic()
        for number in range(total):
            time.sleep(max(0, begun + number / RATE - time.monotonic()))
            server.send_one()
            if number + 1 == STEADY_WARM_UP:
                before = moment(server, client)
        after = wait_for(server, client, lambda now: now.done == total)
        times = client.times()
        found = {"p50_ms": percentile(times, 0.5), "p99_ms": percentile(times, 0.99)}
        return {**between(before, after), **found}


def idle(serve: str, command: list[str], pollers: int) -> Figures:
    """Measures an empty queue. Polls of 20 s neither begin nor end at the limits of the minute."""
    with Server(serve) as server, start(server, command, 0) as client:
        wait_for(server, client, lambda now: now.requests >= pollers)
        time.sleep(10)
        before = moment(server, client)
        time.sleep(IDLE_SECONDS)
        after = moment(server, client)
        requests = (after.requests - before.requests) * 86_400 / IDLE_SECONDS
        cpu_ms = (after.cpu - before.cpu) * 1000
        return {"a_day": requests, "a_day_and_poller": requests / pollers, "cpu_ms_a_minute": cpu_ms}


def memory(serve: str, command: list[str], messages: int) -> Figures:
    """Measures the resident memory after a tenth of the messages and after all. They are sent as they are handled."""
    with Server(serve) as server, start(server, command, 0) as client:
        found, sent = [], 0
        while len(found) < 10:
            done = moment(server, client).done
            if done >= messages * (len(found) + 1) // 10:
                found.append(client.memory()[0])
            elif sent == messages or sent - done >= MOST_WAITING:
                time.sleep(0.01)
            else:
                for _ in range(min(200, (messages - sent) // 10)):
                    server.send_ten()
                    sent += 10
        return {"first_mib": found[0], "last_mib": found[-1], "most_mib": max(found)}
