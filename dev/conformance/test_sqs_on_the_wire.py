import base64
from urllib.parse import urlparse

import pytest

from aws import NO_QUEUE, md5, md5_of_attributes, text, unused
from sources import JSON_PROTOCOL, MEASURED_MOVE_TASKS, MEASURED_SQS, MEASURED_SQS_TESTS
from sources import QUERY_COMPATIBLE, QUERY_COMPATIBLE_CLIENTS, QUERY_PROTOCOL, source, sqs
from wire import aws_json, query


@pytest.fixture
def ask(aws):
    """Returns a call in the query protocol."""
    return lambda action, **parameters: query(aws.url, "sqs", action, **parameters)


@source(JSON_PROTOCOL, QUERY_COMPATIBLE)
def test_a_json_error_names_its_shape_and_has_the_older_code_in_a_header(aws, queue):
    body = {"QueueUrl": queue.url + "-nowhere", "MessageBody": "tea"}
    answer = aws_json(aws.url, "AmazonSQS.SendMessage", body, **{"x-amzn-query-mode": "true"})
    assert answer.status == 400
    assert answer.json["__type"].rpartition("#")[2] == "QueueDoesNotExist"
    assert answer.json["message"] == "The specified queue does not exist."
    assert answer.headers["x-amzn-query-error"] == f"{NO_QUEUE};Sender"
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    assert answer.headers["x-amzn-requestid"]


@source(MEASURED_SQS, MEASURED_MOVE_TASKS, QUERY_COMPATIBLE_CLIENTS)
@pytest.mark.parametrize("mode", ["true", "false"])
def test_a_json_error_has_its_older_status_whether_or_not_the_client_asks_for_it(aws, queue, mode):
    headers = {"x-amzn-query-mode": mode}
    purge = {"QueueUrl": queue.url}
    statuses = [aws_json(aws.url, "AmazonSQS.PurgeQueue", purge, **headers).status for _ in range(2)]
    assert statuses == [200, 403]
    cancel = {"TaskHandle": base64.b64encode(f'{{"taskId":"0","sourceArn":"{queue.arn}"}}'.encode()).decode()}
    answer = aws_json(aws.url, "AmazonSQS.CancelMessageMoveTask", cancel, **headers)
    assert (answer.status, answer.headers["x-amzn-query-error"]) == (404, "ResourceNotFoundException;Sender")


@source(JSON_PROTOCOL)
def test_json_that_is_none_is_refused(aws):
    assert aws_json(aws.url, "AmazonSQS.ListQueues", b"{").status == 400


@source(JSON_PROTOCOL)
def test_an_operation_that_does_not_exist_is_refused_in_json(aws):
    answer = aws_json(aws.url, "AmazonSQS.BrewTea", {})
    assert (answer.status, answer.json["__type"].rpartition("#")[2]) == (400, "UnknownOperationException")


@source(JSON_PROTOCOL)
def test_an_answer_without_content_has_no_content_or_an_empty_object(aws, queue):
    answer = aws_json(aws.url, "AmazonSQS.DeleteQueue", {"QueueUrl": queue.url})
    assert (answer.status, answer.body in (b"", b"{}")) == (200, True)


@source(QUERY_PROTOCOL, sqs("CreateQueue"))
def test_a_queue_is_created_described_and_tagged_by_query(ask):
    name = unused()
    attributes = {"Attribute.1.Name": "DelaySeconds", "Attribute.1.Value": "7"}
    created = ask("CreateQueue", QueueName=name, more={**attributes, "Tag.1.Key": "team", "Tag.1.Value": "a"})
    url = created.text("CreateQueueResult/QueueUrl")
    assert (created.status, url.endswith(f"/{name}")) == (200, True)
    assert "xml" in created.headers["content-type"]
    assert created.text("ResponseMetadata/RequestId")
    found = ask("GetQueueAttributes", QueueUrl=url, more={"AttributeName.1": "DelaySeconds"})
    pairs = [(each.findtext("Name"), each.findtext("Value")) for each in found.xml.iter("Attribute")]
    assert pairs == [("DelaySeconds", "7")]
    listed = ask("ListQueueTags", QueueUrl=url)
    assert [(each.findtext("Key"), each.findtext("Value")) for each in listed.xml.iter("Tag")] == [("team", "a")]
    assert ask("GetQueueUrl", QueueName=name).text("GetQueueUrlResult/QueueUrl") == url
    assert [each.text for each in ask("ListQueues", QueueNamePrefix=name).xml.iter("QueueUrl")] == [url]


@source(QUERY_PROTOCOL, sqs("SendMessage"))
def test_a_message_is_sent_received_hidden_and_deleted_by_query(queue, ask):
    body, raw = "<tea> & früh", b"\x00\xff"
    attributes = {"channel": text("web"), "raw": {"DataType": "Binary", "BinaryValue": raw}}
    named = {
        "MessageAttribute.1.Name": "channel",
        "MessageAttribute.1.Value.DataType": "String",
        "MessageAttribute.1.Value.StringValue": "web",
        "MessageAttribute.2.Name": "raw",
        "MessageAttribute.2.Value.DataType": "Binary",
        "MessageAttribute.2.Value.BinaryValue": base64.b64encode(raw).decode(),
    }
    sent = ask("SendMessage", QueueUrl=queue.url, MessageBody=body, more=named)
    assert sent.text("SendMessageResult/MD5OfMessageBody") == md5(body)
    assert sent.text("SendMessageResult/MD5OfMessageAttributes") == md5_of_attributes(attributes)
    names = {"AttributeName.1": "All", "MessageAttributeName.1": "All"}
    received = ask("ReceiveMessage", QueueUrl=queue.url, MaxNumberOfMessages=10, more=names)
    [message] = received.xml.findall("ReceiveMessageResult/Message")
    assert message.findtext("Body") == body
    assert message.findtext("MessageId") == sent.text("SendMessageResult/MessageId")
    system = {each.findtext("Name"): each.findtext("Value") for each in message.findall("Attribute")}
    assert system["ApproximateReceiveCount"] == "1"
    found = {each.findtext("Name"): each.find("Value") for each in message.findall("MessageAttribute")}
    assert found["channel"].findtext("StringValue") == "web"
    assert base64.b64decode(found["raw"].findtext("BinaryValue")) == raw
    handle = message.findtext("ReceiptHandle")
    hidden = ask("ChangeMessageVisibility", QueueUrl=queue.url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert (hidden.status, hidden.xml.tag) == (200, "ChangeMessageVisibilityResponse")
    handle = queue.take()["ReceiptHandle"]
    assert ask("DeleteMessage", QueueUrl=queue.url, ReceiptHandle=handle).xml.tag == "DeleteMessageResponse"
    assert queue.counts() == (0, 0, 0)


@source(QUERY_PROTOCOL, sqs("SendMessageBatch"))
def test_a_batch_by_query_names_what_failed(queue, ask):
    fields = {"1.Id": "good", "1.MessageBody": "tea", "2.Id": "bad", "2.MessageBody": "\x08"}
    entries = {f"SendMessageBatchRequestEntry.{name}": value for name, value in fields.items()}
    answer = ask("SendMessageBatch", QueueUrl=queue.url, more=entries)
    [good] = answer.xml.findall("SendMessageBatchResult/SendMessageBatchResultEntry")
    [bad] = answer.xml.findall("SendMessageBatchResult/BatchResultErrorEntry")
    assert (good.findtext("Id"), good.findtext("MD5OfMessageBody")) == ("good", md5("tea"))
    assert (bad.findtext("Id"), bad.findtext("Code")) == ("bad", "InvalidMessageContents")
    assert bad.findtext("SenderFault") == "true"
    handle = queue.take()["ReceiptHandle"]
    entry = "DeleteMessageBatchRequestEntry.1"
    entries = {f"{entry}.Id": "a", f"{entry}.ReceiptHandle": handle}
    answer = ask("DeleteMessageBatch", QueueUrl=queue.url, more=entries)
    assert answer.text("DeleteMessageBatchResult/DeleteMessageBatchResultEntry/Id") == "a"


@source(QUERY_PROTOCOL)
def test_a_body_by_query_arrives_as_it_was_whatever_xml_makes_of_it(queue, ask):
    body = "<a>&\r\n'\""
    assert ask("SendMessage", QueueUrl=queue.url, MessageBody=body).status == 200
    assert ask("ReceiveMessage", QueueUrl=queue.url).text("ReceiveMessageResult/Message/Body") == body
    refusal = ask("SendMessage", QueueUrl=queue.url, MessageBody="tea", MessageGroupId="\x01")
    assert (refusal.status, refusal.text("Error/Code")) == (400, "InvalidParameterValue"), "it can be parsed"


@source(QUERY_PROTOCOL, sqs("StartMessageMoveTask"))
def test_letters_are_moved_by_query(aws, ask):
    queue, dead = aws.pair(most=1)
    queue.send()
    queue.fail()
    queue.receive()
    started = ask("StartMessageMoveTask", SourceArn=dead.arn, MaxNumberOfMessagesPerSecond=1)
    handle = started.text("StartMessageMoveTaskResult/TaskHandle")
    [listed] = ask("ListMessageMoveTasks", SourceArn=dead.arn).xml.iter("ListMessageMoveTasksResultEntry")
    assert listed.findtext("Status") == "RUNNING"
    cancelled = ask("CancelMessageMoveTask", TaskHandle=handle)
    assert cancelled.text("CancelMessageMoveTaskResult/ApproximateNumberOfMessagesMoved") == "0"


BATCHES = ["SendMessage", "DeleteMessage", "ChangeMessageVisibility"]


@source(MEASURED_SQS_TESTS)
@pytest.mark.parametrize("name", ["Entries", "{}BatchRequestEntry"], ids=["name of the list", "name of an element"])
@pytest.mark.parametrize("operation", BATCHES)
def test_a_batch_with_an_empty_list_by_query_is_an_empty_batch(queue, ask, operation, name):
    """`test_send_message_batch_with_empty_list`: botocore sends `Entries=`, other clients the name of an element."""
    answer = ask(f"{operation}Batch", QueueUrl=queue.url, more={name.format(operation): ""})
    assert error_of(answer)[:3] == (400, "Sender", "AWS.SimpleQueueService.EmptyBatchRequest")


LISTS = ["MessageAttributeNames", "AttributeNames", "MessageSystemAttributeNames", "MessageAttributeName", "AttributeName"]


@source(MEASURED_SQS)
@pytest.mark.parametrize("name", LISTS)
def test_a_receive_with_an_empty_list_by_query_gives_messages_without_attributes(one, ask, name):
    """`test_receive_message_message_attribute_names_filters`."""
    [message] = ask("ReceiveMessage", QueueUrl=one.url, more={name: ""}).xml.iter("Message")
    assert {part.tag for part in message} == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}


@source(QUERY_PROTOCOL)
def test_an_empty_list_by_query_beside_its_elements_is_not_empty(queue, ask):
    queue.send(MessageAttributes={"Hello": text("There")})
    names = {"MessageAttributeNames": "", "MessageAttributeName.1": "All"}
    received = ask("ReceiveMessage", QueueUrl=queue.url, more=names)
    assert (received.status, [each.findtext("Name") for each in received.xml.iter("MessageAttribute")]) == (200, ["Hello"])


@source(QUERY_PROTOCOL)
@pytest.mark.parametrize("name", ["MessageAttributes", "MessageAttribute"])
def test_a_send_with_an_empty_map_by_query_has_no_attributes(queue, ask, name):
    sent = ask("SendMessage", QueueUrl=queue.url, MessageBody="tea", more={name: ""})
    assert (sent.status, sent.text("SendMessageResult/MD5OfMessageAttributes")) == (200, None)


@source(MEASURED_SQS)
def test_an_asterisk_by_query_is_all_message_attributes(queue, ask):
    """`test_receive_message_message_attribute_names_filters`."""
    queue.send(MessageAttributes={"Hello": text("There")})
    received = ask("ReceiveMessage", QueueUrl=queue.url, more={"MessageAttributeName.1": "*"})
    assert [each.findtext("Name") for each in received.xml.iter("MessageAttribute")] == ["Hello"]


@source(QUERY_PROTOCOL)
def test_a_query_may_name_its_queue_by_the_path(queue, ask):
    assert ask("SendMessage", path=urlparse(queue.url).path, MessageBody="tea").status == 200
    assert queue.bodies() == ["tea"]


def error_of(answer) -> tuple:
    assert answer.xml.tag == "ErrorResponse"
    return answer.status, *(answer.text(f"Error/{part}") for part in ("Type", "Code", "Message"))


@source(MEASURED_SQS, QUERY_PROTOCOL)
def test_a_queue_that_does_not_exist_is_named_as_such_by_query(queue, ask):
    message = "The specified queue does not exist for this wsdl version."
    answer = ask("SendMessage", QueueUrl=queue.url + "-nowhere", MessageBody="tea")
    assert error_of(answer) == (400, "Sender", NO_QUEUE, message)
    assert (answer.text("Error/Detail"), bool(answer.text("RequestId"))) == ("", True)


@source(MEASURED_SQS_TESTS)
def test_an_action_that_does_not_exist_is_refused_by_query(queue, ask):
    message = "The action FooBar is not valid for this endpoint."
    assert error_of(ask("FooBar", path=urlparse(queue.url).path)) == (400, "Sender", "InvalidAction", message)


@source(MEASURED_SQS_TESTS)
def test_a_missing_parameter_is_named_by_query(queue, ask):
    message = "The request must contain the parameter MessageBody."
    assert error_of(ask("SendMessage", path=urlparse(queue.url).path)) == (400, "Sender", "MissingParameter", message)
