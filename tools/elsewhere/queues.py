"""`redrive queue` and `redrive send`."""

import io
import json
import zipfile

from emulators import client

from .keeping import BODY
from .scene import Elsewhere, Orders, equal, same, says, text


def a_dead_letter_queue_is_attached_and_detached_and_messages_stay(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(1)
    orders.queue.send("message")
    queue = ["--queue", orders.queue.name, "--yes"]
    elsewhere.run("queue", "detach", *queue)
    equal(policy(orders), None, "the redrive policy that was taken off")
    elsewhere.run("queue", "attach", *queue, "--dead-letter-queue", orders.dead.name, "--max-receive-count", "5")
    equal(policy(orders), (orders.dead.arn, 5), "the redrive policy")
    again = elsewhere.run("queue", "attach", *queue, "--dead-letter-queue", orders.dead.name)
    says("no change", again.stdout + again.stderr)
    equal(orders.counts(), ((1, 0), (1, 0)), "what is where")


def a_dead_letter_queue_that_is_missing_is_made(elsewhere: Elsewhere) -> None:
    for end in ("", ".fifo"):
        orders = elsewhere.orders(fifo=bool(end))
        made = orders.queue.name.removesuffix(".fifo") + "-made" + end
        queue = ["--queue", orders.queue.name, "--yes"]
        elsewhere.run("queue", "attach", *queue, "--dead-letter-queue", made)
        arn = policy(orders)[0]
        equal(arn.rpartition(":")[2], made, "the dead-letter queue")
        url = elsewhere.sqs.get_queue_url(QueueName=made)["QueueUrl"]
        found = elsewhere.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        equal((found["MessageRetentionPeriod"], found.get("FifoQueue", "")), ("1209600", "true" if end else ""), "it")


def only_the_attached_queue_may_use_a_new_dead_letter_queue(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    made = orders.queue.name + "-made"
    elsewhere.run("queue", "attach", "--queue", orders.queue.name, "--yes", "--dead-letter-queue", made)
    url = elsewhere.sqs.get_queue_url(QueueName=made)["QueueUrl"]
    found = elsewhere.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [orders.queue.arn]}
    equal(json.loads(found.get("RedriveAllowPolicy", "{}")), allowed, "who may use it")


def a_status_counts_the_messages_of_both_queues(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(3)
    orders.queue.send("1")
    orders.queue.send("2")
    orders.queue.send("later", DelaySeconds=600)
    equal(len(orders.dead.receive(hidden=60)), 3, "letters that were received")
    report = status(orders)
    counts = ("visible", "in_flight", "delayed")
    equal([report["queue"][name] for name in counts], [2, 0, 1], "the queue")
    equal([report["dead_letter_queue"][name] for name in counts], [0, 3, 0], "the dead letters")
    equal(report["queue"]["redrive_policy"]["max_receive_count"], 3, "the redrive policy")


def a_status_reads_every_part(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    equal(status(orders)["not_read"], [], "what was not read")


def a_mapping_is_paused_and_resumed(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    functions, mapping = mapped(orders)
    for verb, state in [("pause", "Disabled"), ("resume", "Enabled")]:
        elsewhere.run("queue", verb, "--queue", orders.queue.name)
        equal(functions.get_event_source_mapping(UUID=mapping)["State"], state, f"the mapping after {verb}")
        equal([one["state"] for one in status(orders)["mappings"]], [state], "what the status says of it")


def a_message_is_sent_with_its_attributes(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders(fifo=True)
    queue = ["--queue", orders.queue.name, "--group-id", "a"]
    elsewhere.run("send", *queue, "--body", BODY, "--attribute", "channel=phone", "--deduplication-id", "once")
    [message] = orders.queue.take()
    equal((message["Body"], message["MessageAttributes"]), (BODY, {"channel": text("phone")}), "the message")
    system = message["Attributes"]
    equal((system["MessageGroupId"], system["MessageDeduplicationId"]), ("a", "once"), "its ids")


def messages_of_a_file_are_sent_in_batches(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    lines = [{"body": str(at), "attributes": {"at": str(at)}} for at in range(23)]
    given = "".join(json.dumps(line) + "\n" for line in lines)
    elsewhere.run("send", "--queue", orders.queue.name, "-", given=given)
    found = [(one["Body"], one["MessageAttributes"]["at"]["StringValue"]) for one in orders.queue.take()]
    same(found, [(str(at), str(at)) for at in range(23)], "the messages")


def status(orders: Orders) -> dict:
    return json.loads(orders.elsewhere.run("queue", "status", "--queue", orders.queue.name, "--json").stdout)


def policy(orders: Orders) -> tuple[str, int] | None:
    found = orders.queue.attributes("All").get("RedrivePolicy")
    if not found:
        return None
    found = json.loads(found)
    return found["deadLetterTargetArn"], int(found["maxReceiveCount"])


def mapped(orders: Orders) -> tuple[object, str]:
    """A function that the queue feeds, and the id of the mapping. Nothing is sent to it."""
    elsewhere, name = orders.elsewhere, orders.queue.name
    iam, functions = client("iam", elsewhere.endpoint), client("lambda", elsewhere.endpoint)
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as code:
        code.writestr("bootstrap", "#!/bin/sh\n")
    functions.create_function(
        FunctionName=name,
        Role=role,
        Runtime="provided.al2023",
        Handler="bootstrap",
        Code={"ZipFile": archive.getvalue()},
    )
    mapping = functions.create_event_source_mapping(FunctionName=name, EventSourceArn=orders.queue.arn)
    return functions, mapping["UUID"]
