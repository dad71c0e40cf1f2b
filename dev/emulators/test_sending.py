"""Tests that a consumer obeys what `redrive-send` has written."""

import json

from shop import NOTE, drained, logged


def test_a_consumer_obeys_the_attempts_and_the_backoff_of_the_sender(shop):
    sent = shop.aws.call("examples/sending", QUEUE_URL=shop.queue.url).stdout
    with shop.aws.worker("orders", shop.queue, REDRIVE_LAST_DELIVERY="dead-letter") as log:
        shop.wait_for_letters(1)
    failures = [line for line in logged(log) if "to be retried" in line["message"]]
    assert [line["attempt"] for line in failures] == [1]
    (letter,) = drained(shop.dead)
    note = json.loads(letter["MessageAttributes"][NOTE]["StringValue"])
    assert (note["reason"], note["attempts"]) == ("exhausted", 2)
    assert note["message_id"] in sent and letter["MessageAttributes"]["channel"]["StringValue"] == "web"
    assert json.loads(letter["Body"])["order_id"] == "A-1"
