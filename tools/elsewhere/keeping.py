"""Case 29: what a letter keeps on its way back, and what it loses."""

import json

from .scene import NOTE, ORIGIN, Elsewhere, Orders, equal, text

BODY = '{ "price": 1.10,\n\t"name": "Zoë \U0001f600" }  '
TRACE = "Root=1-5e1b4151-5ac6c58dc39a6b6d4e0f1c2d;Parent=53995c3f42cd8ad8;Sampled=1"
ATTRIBUTES = {
    "channel": text("web – früh"),
    "cents": text("-1.50", "Number.cents"),
    "receipt": {"DataType": "Binary.gzip", "BinaryValue": bytes(range(256))},
}


def body_and_attributes_survive_and_the_note_is_stripped(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.letter(BODY, message="m1", attributes=ATTRIBUTES)
    [arrived] = retried(orders)
    equal(arrived["Body"], BODY, "the body")
    attributes = arrived["MessageAttributes"]
    origin = json.loads(attributes.pop(ORIGIN)["StringValue"])
    equal(attributes, ATTRIBUTES, "the attributes")
    equal((origin["message_id"], origin["redrives"]), ("m1", 1), "the origin")


def the_trace_header_survives(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.letter("traced", MessageSystemAttributes={"AWSTraceHeader": text(TRACE)})
    [arrived] = retried(orders)
    equal(arrived["Attributes"].get("AWSTraceHeader"), TRACE, "the trace header that arrived")


def redrives_are_counted_through_all_lives_of_a_message(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.letter("b", message="m1")
    for redrives in (1, 2, 3):
        [arrived] = retried(orders)
        attributes = arrived["MessageAttributes"]
        origin = json.loads(attributes[ORIGIN]["StringValue"])
        equal((origin["message_id"], origin["redrives"]), ("m1", redrives), "the origin")
        equal(set(attributes), {ORIGIN}, "the attributes")
        orders.letter("b", message=arrived["MessageId"], attributes=attributes)


def a_letter_that_sqs_moved_goes_back_with_its_first_id(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    sent = orders.queue.send("b")
    for _ in range(3):
        equal(len(orders.queue.receive(hidden=0)), 1, "deliveries")
    equal(orders.queue.receive(hidden=0), [], "what is delivered after the last time")
    [line] = orders.run("list", "--json").lines
    equal((line["reason"], line["message_id"], line["attempts"]), ("redrive-policy", sent, 3), "the letter")
    [arrived] = retried(orders)
    origin = json.loads(arrived["MessageAttributes"][ORIGIN]["StringValue"])
    equal((origin["message_id"], origin["redrives"]), (sent, 1), "the origin")


def two_letters_of_one_message_are_sent_once(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    for _ in range(3):
        orders.letter("once", message="m1")
    equal([message["Body"] for message in retried(orders)], ["once"], "what arrived")
    equal(orders.dead.counts(), (0, 0), "what is left")


def a_group_goes_back_in_its_order(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders(fifo=True)
    for at in range(12):
        for group in "ab":
            fifo_letter(orders, f"{group}{at:02}", group)
    arrived = retried(orders)
    for group in "ab":
        of_group = [one["Body"] for one in arrived if one["Attributes"]["MessageGroupId"] == group]
        equal(of_group, [f"{group}{at:02}" for at in range(12)], f"the group {group}")


def a_letter_that_stays_keeps_those_behind_it(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders(fifo=True)
    for body, reason in [("a1", "rejected"), ("a2", "panic"), ("b1", "panic")]:
        fifo_letter(orders, body, body[0], reason=reason)
    orders.retry("--where", "reason = panic", code=1)
    equal(orders.queue.bodies(), ["b1"], "what arrived")
    equal(orders.dead.bodies(), ["a1", "a2"], "what stays")


def a_fresh_deduplication_id_is_used_where_the_old_one_is_swallowed(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders(fifo=True)
    once = {"MessageGroupId": "a", "MessageDeduplicationId": "once"}
    orders.queue.send("first", **once)
    orders.queue.send("swallowed", **once)
    orders.letter("letter", **once)
    orders.retry()
    arrived = orders.queue.take()
    equal([message["Body"] for message in arrived], ["first", "letter"], "what arrived")
    ids = [message["Attributes"]["MessageDeduplicationId"] for message in arrived]
    equal((ids[0], ids[1] != "once"), ("once", True), f"the deduplication ids {ids}")


def retried(orders: Orders) -> list[dict]:
    orders.retry()
    arrived = orders.queue.take()
    for message in arrived:
        equal(NOTE in message.get("MessageAttributes", {}), False, "whether the note is there")
    return arrived


def fifo_letter(orders: Orders, body: str, group: str, **more) -> None:
    orders.letter(body, MessageGroupId=group, MessageDeduplicationId=f"message-{body}", **more)
