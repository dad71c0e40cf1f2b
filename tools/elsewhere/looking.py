"""Case 26: who only looks or says no changes nothing, and no letter is deleted before it was sent."""

from collections.abc import Iterator

import proxy
from proxy import Answer, Call, Proxy

from .faults import MOVING, READING
from .scene import Elsewhere, equal, same, says
from .terminal import terminal

QUESTIONS = [
    (["retry"], "Send the 3 letters in "),
    (["retry", "--native"], "Have AWS move the 3 letters in "),
    (["delete", "--all"], "Delete the 3 letters in "),
    (["purge"], "This deletes about 3 letters for good, in account "),
]


def refusing_the_question_changes_nothing(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(3)
    for verb, question in QUESTIONS:
        with proxy.before(elsewhere.endpoint) as listening:
            command = elsewhere.command("dlq", *verb, "--queue", orders.queue.name, at=listening.url)
            with terminal(command) as shown:
                shown.expect(question)
                shown.type("n\r")
                equal(shown.end(), 1, f"the exit code of {verb}")
            says("redrive: not confirmed: nothing was ", shown.shown)
            equal({call.action for call in listening.calls} - READING, set(), f"the calls of {verb} that change")
    equal(orders.counts(), ((0, 0), (3, 0)), "what is where")


def without_a_terminal_nobody_is_asked(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(1)
    for verb, *more in (verb for verb, _ in QUESTIONS):
        says("redrive: not a terminal, cannot confirm: pass --yes to ", orders.run(verb, *more, code=2).stderr)
    equal(orders.counts(), ((0, 0), (1, 0)), "what is where")


def listed_letters_are_visible_again_at_once(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    ids = orders.write(3)
    found = orders.run("list", "--json").lines
    equal(orders.counts(), ((0, 0), (3, 0)), "what is where")
    same([line["id"] for line in found], ids, "the letters")
    same([letter["MessageId"] for letter in orders.dead.receive()], ids, "what can be received")


def a_retry_of_two_is_two_sends_and_then_two_deletes(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(2)
    with proxy.before(elsewhere.endpoint) as listening:
        ran = orders.retry(at=listening.url)
    equal(ran.stdout, f"2 sent from {orders.dead.name} to {orders.queue.name}\n", "what is said")
    equal(
        [(call.action, len(call.entries), bool(answer)) for call, answer in moving(listening)],
        [
            ("SendMessageBatch", 2, False),
            ("SendMessageBatch", 2, True),
            ("DeleteMessageBatch", 2, False),
            ("DeleteMessageBatch", 2, True),
        ],
        "calls and answers",
    )
    equal(orders.dead.counts(), (0, 0), "what is left")
    same(orders.queue.bodies(), ["0", "1"], "what arrived")


def no_letter_is_deleted_before_its_send_is_confirmed(elsewhere: Elsewhere) -> None:
    """Of four batches, some of them at the same time."""
    orders = elsewhere.orders()
    orders.write(40)
    with proxy.before(elsewhere.endpoint) as listening:
        orders.retry(at=listening.url)
    equal(list(too_early(listening)), [], "letters that were deleted too early")
    equal(orders.dead.counts(), (0, 0), "what is left")
    same(orders.queue.bodies(), [str(at) for at in range(40)], "what arrived")


def moving(listening: Proxy) -> Iterator[tuple[Call, Answer | None]]:
    return (entry for entry in listening.log if entry[0].action in MOVING)


def too_early(listening: Proxy) -> Iterator[str]:
    """The bodies of the letters whose delete was asked for before their send was answered."""
    body_of, sent = {}, set()
    for call, answer in listening.log:
        if call.action == "ReceiveMessage" and answer:
            for message in answer.output.get("Messages", []):
                body_of[message["ReceiptHandle"]] = message["Body"]
        elif call.action == "SendMessageBatch" and answer:
            confirmed = {entry["Id"] for entry in answer.output["Successful"]}
            sent |= {entry["MessageBody"] for entry in call.entries if entry["Id"] in confirmed}
        elif call.action.startswith("DeleteMessage") and not answer:
            handles = [entry["ReceiptHandle"] for entry in call.entries or [call.input]]
            yield from (body_of[handle] for handle in handles if body_of[handle] not in sent)
