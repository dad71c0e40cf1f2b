"""Tests the demo function as a worker, a process that polls by itself."""

import json

from emulators import until
from shop import NOTE, PATIENCE, drained, gap, logged


def test_a_worker_handles_orders_and_backs_off_and_writes_letters(shop):
    for gateway in ["up"] * 12 + [{"down_for": 1}, "refuses", "down"]:
        shop.queue.send(order(gateway))
    with shop.aws.worker("orders", shop.queue, REDRIVE_LAST_DELIVERY="dead-letter") as log:
        shop.wait_for_letters(2)
    found = logged(log)
    assert sum(line["message"] == "charged" for line in found) == 13
    assert sorted(line["attempt"] for line in found if "to be retried" in line["message"]) == [1, 1, 2]
    notes = [json.loads(letter["MessageAttributes"][NOTE]["StringValue"]) for letter in drained(shop.dead)]
    assert sorted((note["reason"], note["attempts"]) for note in notes) == [("card-refused", 1), ("exhausted", 3)]


def test_a_worker_that_is_told_to_end_hands_back_what_it_has_in_hand(shop):
    with shop.aws.worker("orders", shop.queue) as log:
        shop.queue.send(order("hangs"))
        shop.queue.send(order("up"))
        until(PATIENCE, lambda: "charged" in log.read_text() and shop.queue.counts() == (0, 1, 0), "none is in hand")
    assert "handlers are canceled" in log.read_text()
    # Immediately, and not after the queue's 30 s.
    back = shop.queue.take()
    assert (json.loads(back["Body"])["gateway"], back["Attributes"]["ApproximateReceiveCount"]) == ("hangs", "2")


@gap("moto", "messages of a group that were hidden come back in another order", "in another order")
def test_a_worker_handles_the_orders_of_a_group_one_after_the_other(fifo):
    orders = [f"A-{number}" for number in range(6)]
    for each in orders:
        fifo.queue.send(order({"down_for": 1} if each == "A-1" else "up", each), "A")
    with fifo.aws.worker("orders", fifo.queue) as log:
        fifo.wait_for_letters(0)
    charged = [line["order_id"] for line in logged(log) if line["message"] == "charged"]
    assert sorted(charged) == orders
    assert charged == orders, "in another order"


def order(gateway, order_id: str = "A-1") -> str:
    return json.dumps({"order_id": order_id, "lines": [{"sku": "tea", "quantity": 1}], "gateway": gateway})
