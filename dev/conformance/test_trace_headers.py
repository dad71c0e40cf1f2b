from urllib.parse import urlencode

import pytest

from aws import text
from sources import MEASURED_SQS, X_RAY, source
from wire import post

OWN = {"AWSTraceHeader": text("Root=1-5759e988-bd862e3fe1be46a994272793")}
HEADER = "Root=1-3152b799-8954dae64eda91bc9a23a7e8;Parent=7fa8c0f79203be72;Sampled=1"


@pytest.fixture
def traced(aws):
    """A queue whose client sends X-Ray's header with each request, as the SDKs do in a function."""
    queue = aws.queue()
    queue.sqs = aws.client("sqs")
    queue.sqs.meta.events.register(
        "before-send.sqs", lambda request, **_: request.headers.update({"X-Amzn-Trace-Id": HEADER}))
    return queue


def headers_of(queue) -> dict:
    return {message["Body"]: message["Attributes"].get("AWSTraceHeader") for message in queue.receive()}


@source(X_RAY, MEASURED_SQS)
def test_the_trace_header_of_a_request_is_that_of_its_message(traced):
    """`test_aws_trace_header_propagation`."""
    traced.send("tea")
    assert headers_of(traced) == {"tea": HEADER}


@source(X_RAY)
def test_the_trace_header_of_a_batch_is_that_of_each_message_that_has_none_of_its_own(traced):
    traced.batch(
        "send_message", {"Id": "a", "MessageBody": "tea"}, {"Id": "b", "MessageBody": "milk"},
        {"Id": "c", "MessageBody": "rum", "MessageSystemAttributes": OWN})
    assert headers_of(traced) == {"tea": HEADER, "milk": HEADER, "rum": OWN["AWSTraceHeader"]["StringValue"]}


@source(X_RAY)
def test_a_system_attribute_wins_over_the_trace_header_of_a_request(traced):
    traced.send("tea", MessageSystemAttributes=OWN)
    assert headers_of(traced) == {"tea": OWN["AWSTraceHeader"]["StringValue"]}


@source(X_RAY, MEASURED_SQS)
def test_the_trace_header_of_a_query_is_that_of_its_message(aws, queue):
    body = urlencode({"Action": "SendMessage", "QueueUrl": queue.url, "MessageBody": "tea"}).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Amzn-Trace-Id": HEADER}
    assert post(aws.url, "sqs", form, body).status == 200
    assert headers_of(queue) == {"tea": HEADER}
