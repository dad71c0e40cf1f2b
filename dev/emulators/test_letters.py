import json

from aws import text
from shop import ORIGIN, drained, gap, lines

BODY = '{ "price": 1.10,\n\t"name": "Zoë \U0001f600" }  '
TRACE = "Root=1-5e1b4151-5ac6c58dc39a6b6d4e0f1c2d;Parent=53995c3f42cd8ad8;Sampled=1"
ATTRIBUTES = {
    "channel": text("web – früh"),
    "cents": text("-1.50", "Number.cents"),
    "receipt": {"DataType": "Binary.gzip", "BinaryValue": bytes(range(256))},
}


def test_letters_are_listed_and_shown_and_visible_again_at_once(shop):
    ids = shop.letters(12, "rejected", "panic")
    letter = shop.letter(BODY, message="m1", attributes=ATTRIBUTES)
    listed = lines(shop.dlq("list", "--json", "--where", "reason = panic"))
    assert sorted(line["id"] for line in listed) == sorted([*ids[1::2], letter])
    assert {(line["error"], line["attempts"]) for line in listed} == {("card refused", 3)}
    shown = json.loads(shop.dlq("show", "--no-logs", "--json", "m1").stdout)
    assert (shown["id"], shown["body"], shown["source"]) == (letter, BODY, shop.queue.arn)
    assert shop.bodies() == ([], sorted([*map(str, range(12)), BODY]))


def test_chosen_letters_are_retried_and_deleted_and_others_stay(shop):
    shop.letters(6, "rejected", "panic")
    listed = {line["body"]: json.dumps(line) for line in lines(shop.dlq("list", "--json"))}
    for verb in ("retry", "delete"):
        assert "3 would be " in shop.dlq(verb, "--dry-run", "--where", "reason = panic").stdout
    shop.retry("--ids", "-", given=listed["0"])
    assert shop.retry("--max", "2", "--where", "reason = panic").stdout.startswith("2 sent ")
    shop.dlq("delete", "--yes", "--ids", "-", given=listed["2"])
    shop.dlq("delete", "--yes", "--where", "reason = panic")
    assert (shop.queue.counts(), shop.dead.counts()) == ((3, 0, 0), (1, 0, 0))
    shop.dlq("purge", "--yes")
    assert shop.bodies()[1] == []


def test_a_letter_that_the_queue_refuses_stays_and_the_others_go(shop):
    shop.queue.set(MaximumMessageSize=1024)
    shop.letters(3)
    shop.letter("x" * 2000, message="large")
    assert shop.retry(code=1).stderr.count(" stays: ") == 1
    assert shop.bodies() == (["0", "1", "2"], ["x" * 2000])


def test_body_and_attributes_survive_and_the_note_is_stripped(shop):
    shop.letter(BODY, message="m1", attributes=ATTRIBUTES)
    shop.retry()
    [arrived] = drained(shop.queue)
    origin = json.loads(arrived["MessageAttributes"].pop(ORIGIN)["StringValue"])
    assert (arrived["Body"], arrived["MessageAttributes"]) == (BODY, ATTRIBUTES)
    assert (origin["message_id"], origin["redrives"]) == ("m1", 1)


@gap("ministack", "SendMessageBatch drops system attributes", "assert None == 'Root=")
@gap("moto", "SendMessageBatch drops system attributes", "assert None == 'Root=")
def test_the_trace_header_survives(shop):
    shop.letter("traced", MessageSystemAttributes={"AWSTraceHeader": text(TRACE)})
    shop.retry()
    [arrived] = drained(shop.queue)
    assert arrived["Attributes"].get("AWSTraceHeader") == TRACE


@gap("moto", "no DeadLetterQueueSourceArn", "attempts")
def test_a_letter_that_sqs_moved_goes_back_with_its_first_id(shop):
    sent = shop.queue.send("b")["MessageId"]
    assert [len(shop.queue.receive(VisibilityTimeout=0)) for _ in range(4)] == [1, 1, 1, 0]
    [line] = lines(shop.dlq("list", "--json"))
    assert (line["reason"], line["message_id"], line["attempts"]) == ("redrive-policy", sent, 3)
    shop.retry()
    [arrived] = drained(shop.queue)
    assert json.loads(arrived["MessageAttributes"][ORIGIN]["StringValue"])["message_id"] == sent


def test_a_group_goes_back_in_its_order_behind_a_letter_that_stays(fifo):
    groups = {group: [f"{group}{at:02}" for at in range(12)] for group in "abc"}
    for bodies in zip(*groups.values()):
        for body in bodies:
            fifo.letter(body, "rejected" if body == "c00" else "panic", MessageGroupId=body[0])
    fifo.retry("--where", "reason = panic", code=1)
    for queue, there in ((fifo.queue, "ab"), (fifo.dead, "c")):
        found = [message["Body"] for message in drained(queue)]
        assert {group: [body for body in found if body[0] == group] for group in "abc"} == {
            group: bodies if group in there else [] for group, bodies in groups.items()
        }


def test_a_fresh_deduplication_id_is_used_if_the_old_one_is_swallowed(fifo):
    for body in ("first", "swallowed"):
        fifo.queue.send(body, "a", MessageDeduplicationId="once")
    fifo.letter("letter", MessageGroupId="a", MessageDeduplicationId="once")
    fifo.retry()
    first, letter = drained(fifo.queue)
    assert (first["Body"], letter["Body"]) == ("first", "letter")
    assert letter["Attributes"]["MessageDeduplicationId"] != "once"


@gap("ministack", "no ListDeadLetterSourceQueues", "The action ListDeadLetterSourceQueues is not valid")
def test_a_dead_letter_queue_alone_leads_to_its_queue(shop):
    shop.letters(2)
    shop.aws.redrive("dlq", "retry", "--queue", shop.dead.name, "--yes")
    assert shop.bodies() == (["0", "1"], [])


@gap("ministack", "no move tasks", "The action StartMessageMoveTask is not valid")
@gap("moto", "no move tasks", "the response is not from AWS")
def test_aws_moves_all_letters_itself(shop):
    shop.letters(12)
    shop.retry("--native", "--to", shop.queue.name)
    shop.dlq("retry", "--native", "--status")
    assert len(shop.bodies()[0]) == 12
