from urllib.parse import urlparse

import pytest

from aws import unused
from sources import MEASURED_SQS_TESTS, QUERY_PROTOCOL, source
from wire import get, query

JSON = {"Accept": "application/json"}


@pytest.fixture
def at(aws, queue):
    """Returns a call that gets the URL of a queue, with parameters of the query protocol."""
    path = urlparse(queue.url).path
    return lambda headers=None, **parameters: get(aws.url, "sqs", path, headers, **parameters)


@source(MEASURED_SQS_TESTS)
def test_a_queue_is_described_at_its_url(at, queue):
    """`test_get_queue_attributes_all`."""
    answer = at(Action="GetQueueAttributes", **{"AttributeName.1": "All"})
    found = {each.findtext("Name"): each.findtext("Value") for each in answer.xml.iter("Attribute")}
    assert (answer.status, found["QueueArn"], found["VisibilityTimeout"]) == (200, queue.arn, "30")


@source(MEASURED_SQS_TESTS)
def test_a_queue_named_by_a_parameter_wins_over_that_of_the_url(at, aws):
    """`test_overwrite_queue_url_in_params`."""
    other = aws.queue()
    answer = at(Action="GetQueueAttributes", QueueUrl=other.url, **{"AttributeName.1": "QueueArn"})
    assert [each.text for each in answer.xml.iter("Value")] == [other.arn]


@source(MEASURED_SQS_TESTS)
def test_the_url_of_any_queue_is_told_at_that_of_another(at, aws):
    """`test_get_queue_url_work_for_different_queue`."""
    other = aws.queue()
    assert at(Action="GetQueueUrl", QueueName=other.name).text("GetQueueUrlResult/QueueUrl") == other.url


@source(MEASURED_SQS_TESTS)
@pytest.mark.parametrize("action", ["CreateQueue", "ListQueues"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_on_no_queue_is_refused_at_the_url_of_one(at, aws, queue, action, method):
    """`test_get_create_queue_fails`, `test_get_list_queues_fails`."""
    path, name = urlparse(queue.url).path, queue.name + "-2"
    answer = at(Action=action, QueueName=name) if method == "GET" else query(
        aws.url, "sqs", action, path, QueueName=name)
    message = f"The action {action} is not valid for this endpoint."
    assert (answer.status, answer.text("Error/Code"), answer.text("Error/Message")) == (400, "InvalidAction", message)


@source(MEASURED_SQS_TESTS, QUERY_PROTOCOL)
@pytest.mark.parametrize("path", ["//", "/x", "/000000000000/"])
@pytest.mark.parametrize("action", ["CreateQueue", "ListQueues"])
def test_what_is_on_no_queue_is_answered_at_any_other_path(aws, action, path):
    """`test_get_create_queue_fails` and `test_get_list_queues_fails` ask at the URL of a queue."""
    assert query(aws.url, "sqs", action, path, QueueName=unused()).status == 200


@source(MEASURED_SQS_TESTS)
@pytest.mark.parametrize("version", [{}, {"Version": "2012-11-05"}], ids=["without a version", "with a version"])
def test_an_unknown_action_at_the_url_of_a_queue_is_an_invalid_action(at, version):
    """`test_invalid_action_raises_exception`."""
    answer = at(Action="FooBar", **version)
    message = "The action FooBar is not valid for this endpoint."
    assert (answer.status, answer.text("Error/Code"), answer.text("Error/Message")) == (400, "InvalidAction", message)


@source(MEASURED_SQS_TESTS)
@pytest.mark.parametrize("headers", [{}, JSON], ids=["xml", "json"])
def test_the_url_of_a_queue_without_an_action_is_an_unknown_operation_in_xml(at, headers):
    """`test_get_without_query_returns_unknown_operation`,
    `test_get_without_query_json_format_returns_returns_xml`."""
    answer = at(headers)
    assert (answer.status, answer.xml.tag) == (404, "UnknownOperationException")


ACCEPTING = ["application/json", "APPLICATION/JSON", "text/html, application/json;q=0.9"]


@source(MEASURED_SQS_TESTS)
@pytest.mark.parametrize("accepted", ACCEPTING)
def test_who_accepts_json_gets_it_from_the_query_protocol(at, queue, accepted):
    """`test_get_queue_attributes_json_format`: a map is a list of its entries."""
    answer = at({"Accept": accepted}, Action="GetQueueAttributes", **{"AttributeName.1": "All"})
    assert (answer.status, "json" in answer.headers["content-type"]) == (200, True)
    result = answer.json["GetQueueAttributesResponse"]["GetQueueAttributesResult"]
    assert {"Name": "QueueArn", "Value": queue.arn} in result["Attributes"]


@source(MEASURED_SQS_TESTS)
@pytest.mark.parametrize("body", ['{"foo": "ba\rr", "foo2": "ba&quot;r&quot;"}', '"{\\"foo\\": \\"ba\\rr\\"}"'])
def test_who_accepts_json_receives_messages_as_they_were_sent(aws, queue, body):
    """`test_marker_serialization_json_protocol`: the list is `messages`."""
    queue.send(body)
    answer = get(aws.url, "sqs", "/", JSON, Action="ReceiveMessage", QueueUrl=queue.url)
    assert answer.json["ReceiveMessageResponse"]["ReceiveMessageResult"]["messages"][0]["Body"] == body


@source(MEASURED_SQS_TESTS)
def test_who_accepts_json_is_refused_in_it(at):
    """`test_get_list_queues_fails_json_format`."""
    answer = at(JSON, Action="ListQueues")
    error = answer.json["Error"]
    message = "The action ListQueues is not valid for this endpoint."
    assert (answer.status, error["Code"], error["Message"]) == (400, "InvalidAction", message)


@source(MEASURED_SQS_TESTS)
def test_an_empty_receive_is_an_empty_element(at):
    """`test_get_send_and_receive_messages`, which looks at the text of the answer."""
    assert b"<ReceiveMessageResult/>" in at(Action="ReceiveMessage").body.replace(b" />", b"/>")


@source(MEASURED_SQS_TESTS)
def test_a_deleted_queue_is_missed_at_its_url(at, queue):
    """`test_get_on_deleted_queue_fails`."""
    queue.remove()
    answer = at(Action="GetQueueAttributes", **{"AttributeName.1": "QueueArn"})
    message = "The specified queue does not exist for this wsdl version"
    assert (answer.status, answer.text("Error/Code")) == (400, "AWS.SimpleQueueService.NonExistentQueue")
    assert answer.text("Error/Message").startswith(message)
