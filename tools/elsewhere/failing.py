"""Case 27: what could not be sent stays, what was sent and not deleted is named, and the exit code says so."""

import proxy

from .faults import answer_lost, entries_refused, refused
from .scene import Elsewhere, equal, same, says


def a_letter_that_could_not_be_sent_stays(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(5)
    fate = entries_refused("SendMessageBatch", {1, 3}, "InvalidMessageContents")
    with proxy.before(elsewhere.endpoint, fate) as faulty:
        ran = orders.retry(at=faulty.url, code=1)
    names = (orders.dead.name, orders.queue.name)
    equal(ran.stdout, "3 sent from {} to {}, 2 failed\n".format(*names), "what is said")
    why = "the body or an attribute holds a character that SQS does not accept (a fault)"
    equal(ran.stderr.count(f" stays: {why}"), 2, f"letters named in {ran.stderr!r}")
    deleted = [len(call.entries) for call in faulty.calls if call.action == "DeleteMessageBatch"]
    equal(deleted, [3], "how many were deleted")
    equal(orders.counts(), ((3, 0), (2, 0)), "what is where")
    same(orders.queue.bodies() + orders.dead.bodies(), list("01234"), "all letters")


def a_letter_that_the_queue_refuses_stays_and_the_others_go(elsewhere: Elsewhere) -> None:
    """No proxy: the emulator itself says no."""
    orders = elsewhere.orders()
    elsewhere.sqs.set_queue_attributes(QueueUrl=orders.queue.url, Attributes={"MaximumMessageSize": "1024"})
    orders.write(3)
    orders.letter("x" * 2000)
    ran = orders.retry(code=1)
    equal(ran.stderr.count(" stays: "), 1, f"letters named in {ran.stderr!r}")
    equal(orders.counts(), ((3, 0), (1, 0)), "what is where")
    equal(orders.dead.bodies(), ["x" * 2000], "what stays")


def without_permission_to_send_nothing_is_deleted(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(3)
    fate = refused("SendMessageBatch", "AccessDeniedException", 403)
    with proxy.before(elsewhere.endpoint, fate) as faulty:
        ran = orders.retry(at=faulty.url, code=1)
    says("your credentials need sqs:SendMessage", ran.stderr)
    equal("DeleteMessageBatch" in {call.action for call in faulty.calls}, False, "whether something was deleted")
    equal(orders.counts(), ((0, 0), (3, 0)), "what is where")


def a_letter_that_was_sent_but_not_deleted_is_a_possible_duplicate(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(3)
    fate = entries_refused("DeleteMessageBatch", {2}, "ReceiptHandleIsInvalid")
    with proxy.before(elsewhere.endpoint, fate) as faulty:
        ran = orders.retry(at=faulty.url, code=1)
    equal(
        ran.stdout, f"2 sent from {orders.dead.name} to {orders.queue.name}, 1 sent but not deleted\n", "what is said"
    )
    equal(orders.counts(), ((3, 0), (1, 0)), "what is where")
    [dead], arrived = orders.dead.take(), orders.queue.take()
    [twin] = [message for message in arrived if message["Body"] == dead["Body"]]
    letter = f"letter {dead['MessageId']} was sent as {twin['MessageId']} but not deleted"
    says(f"redrive: possible duplicate: {letter}: the receipt handle has expired", ran.stderr)
    says("redrive: 1 message may arrive twice\n", ran.stderr)


def without_permission_to_delete_no_second_batch_is_sent(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(20)
    fate = refused("DeleteMessageBatch", "AccessDeniedException", 403)
    with proxy.before(elsewhere.endpoint, fate) as faulty:
        ran = orders.retry(at=faulty.url, code=1)
    says("your credentials need sqs:DeleteMessage", ran.stderr)
    equal(ran.stderr.count("possible duplicate: letter "), 10, f"letters named in {ran.stderr!r}")
    equal(orders.counts(), ((10, 0), (20, 0)), "what is where")


def a_send_without_an_answer_leaves_its_letters_and_says_so(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(2)
    with proxy.before(elsewhere.endpoint, answer_lost("SendMessageBatch")) as faulty:
        ran = orders.retry(at=faulty.url, code=1)
    equal(ran.stderr.count("it may have been sent anyway"), 2, f"letters named in {ran.stderr!r}")
    equal(orders.counts(), ((2, 0), (2, 0)), "what is where")


def what_is_wrong_with_the_input_is_said_before_any_letter_is_touched(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(1)
    orders.retry("--where", "reason is panic", code=2)
    orders.retry("--to", "nowhere", code=1)
    orders.retry("--to", orders.dead.name, code=2)
    elsewhere.run("dlq", "retry", "--queue", "nowhere", "--yes", code=1)
    equal(orders.counts(), ((0, 0), (1, 0)), "what is where")
