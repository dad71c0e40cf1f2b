import json

from aws import Queue
from shop import Shop, gap


def test_a_dead_letter_queue_is_detached_and_attached_and_messages_stay(shop):
    shop.letters(1)
    shop.queue.send("message")
    queue = ("--queue", shop.queue.name, "--yes")
    shop.aws.redrive("queue", "detach", *queue)
    assert not shop.queue.attribute("RedrivePolicy")
    shop.aws.redrive("queue", "attach", *queue, "--dead-letter-queue", shop.dead.name, "--max-receive-count", "5")
    policy = json.loads(shop.queue.attribute("RedrivePolicy"))
    assert (policy["deadLetterTargetArn"], int(policy["maxReceiveCount"])) == (shop.dead.arn, 5)
    assert shop.bodies() == (["message"], ["0"])


@gap("moto", "no RedriveAllowPolicy", "Unknown Attribute RedriveAllowPolicy")
def test_a_dead_letter_queue_that_is_missing_is_made_for_one_queue(fifo):
    name = fifo.queue.name.replace(".", "-made.")
    fifo.aws.redrive("queue", "attach", "--queue", fifo.queue.name, "--yes", "--dead-letter-queue", name)
    made = Queue(fifo.aws, name, fifo.aws.sqs.get_queue_url(QueueName=name)["QueueUrl"])
    assert json.loads(fifo.queue.attribute("RedrivePolicy"))["deadLetterTargetArn"] == made.arn
    assert made.attribute("MessageRetentionPeriod") == "1209600"
    allowed = json.loads(made.attribute("RedriveAllowPolicy") or "{}")
    assert allowed == {"redrivePermission": "byQueue", "sourceQueueArns": [fifo.queue.arn]}


@gap("moto", "CloudWatch does not speak CBOR", "the response is not from AWS")
def test_a_status_counts_the_messages_of_both_queues(shop):
    shop.letters(3)
    shop.queue.send_all("1", "2")
    shop.queue.send("later", DelaySeconds=600)
    shop.dead.receive(VisibilityTimeout=60)
    report = json.loads(shop.aws.redrive("queue", "status", "--queue", shop.queue.name, "--json").stdout)
    counts = [[report[name][of] for of in ("visible", "in_flight", "delayed")] for name in ("queue", "dead_letter_queue")]
    assert counts == [[2, 0, 1], [0, 3, 0]]
    assert report["queue"]["redrive_policy"]["max_receive_count"] == 3
    assert report["not_read"] == []


def test_the_dead_letter_queues_of_two_regions_are_listed_together(shop):
    far = Shop(shop.aws.far())
    shop.letters(3)
    far.letters(2)
    listed = shop.aws.redrive("fleet", "--json", "--region", shop.aws.region, "--region", far.aws.region).stdout
    letters = {queue["arn"]: queue["letters"] for queue in json.loads(listed)["queues"]}
    assert (letters[shop.dead.arn], letters[far.dead.arn]) == (3, 2)
