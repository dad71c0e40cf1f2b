import gzip
import time

import cbor2
import pytest

from aws import refused
from metrics import Metric
from sources import MEASURED_CLOUDWATCH, QUERY_COMPATIBLE, RPC_CBOR, cloudwatch, source
from test_alarms import Alarm
from wire import Answer, aws_json, post, query

PUT = cloudwatch("PutMetricData")
PROTOCOLS = ["smithy-rpc-v2-cbor", "json", "query"]
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


class Speaks:
    """The account as a client of one protocol sees it."""

    def __init__(self, aws, protocol: str, **options):
        self.cloudwatch = aws.client("cloudwatch", protocol, **options)


def cbor(aws, operation: str, body: dict, **headers: str) -> Answer:
    path = f"/service/GraniteServiceVersion20100801/operation/{operation}"
    spoken = {"Content-Type": "application/cbor", "Smithy-Protocol": "rpc-v2-cbor", "Accept": "application/cbor"}
    data = cbor2.dumps(body)
    if headers.get("Content-Encoding") == "gzip":
        data = gzip.compress(data)
    return post(aws.url, "monitoring", {**spoken, **headers}, data, path)


@source(PUT, MEASURED_CLOUDWATCH)
@each_protocol
def test_values_are_put_and_read_in_each_protocol(aws, protocol):
    metric = Metric(Speaks(aws, protocol).cloudwatch, Shop="tea & <milk>")
    metric.put(1.5, {"Values": [2.0, 4.0], "Counts": [1.0, 2.0]})
    metric.put({"StatisticValues": {"SampleCount": 2.0, "Sum": 3.0, "Minimum": 1.0, "Maximum": 2.0}})
    assert metric.total() == {"SampleCount": 6, "Sum": 14.5, "Minimum": 1, "Maximum": 4}
    listed = metric.cloudwatch.list_metrics(Namespace=metric.namespace)["Metrics"]
    assert listed == [metric.itself]


@source(MEASURED_CLOUDWATCH)
@each_protocol
def test_an_alarm_is_put_described_and_set_in_each_protocol(aws, protocol):
    alarm = Alarm(Speaks(aws, protocol))
    assert alarm.state() == "INSUFFICIENT_DATA"
    alarm.set("ALARM")
    described = alarm.described()
    assert (described["StateValue"], described["Threshold"], described["Period"]) == ("ALARM", 1, 60)
    assert described["StateUpdatedTimestamp"].year >= 2024


@source(MEASURED_CLOUDWATCH)
@each_protocol
def test_errors_have_the_same_code_in_each_protocol(aws, protocol):
    speaks = Speaks(aws, protocol)
    parameters = {"AlarmName": "nowhere", "StateValue": "OK", "StateReason": "testing"}
    refused("ResourceNotFound", speaks.cloudwatch.set_alarm_state, status=404, **parameters)
    metric = Metric(speaks.cloudwatch)
    says = "The parameters MetricData.member.1.Values and MetricData.member.1.Counts must be of the same size."
    refused("InvalidParameterValue", metric.put, {"Values": [1.0, 2.0], "Counts": [1.0]}, says=says)


@source(PUT)
@each_protocol
def test_a_request_may_be_gzipped_in_each_protocol(aws, protocol):
    metric = Metric(Speaks(aws, protocol, request_min_compression_size_bytes=1).cloudwatch)
    encodings = []

    def look(request, **_) -> None:
        encodings.append(request.headers["Content-Encoding"])

    metric.cloudwatch.meta.events.register("before-send.cloudwatch.PutMetricData", look)
    metric.put(*[1] * 100)
    assert encodings in (["gzip"], [b"gzip"])
    assert metric.total()["SampleCount"] == 100


@source(RPC_CBOR)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_cbor_by_hand_is_understood(aws, encoding):
    metric = Metric(aws.cloudwatch)
    data = [{"MetricName": metric.name, "Value": 3, "Timestamp": cbor2.CBORTag(1, time.time())}]
    body = {"Namespace": metric.namespace, "MetricData": data}
    answer = cbor(aws, "PutMetricData", body, **({"Content-Encoding": "gzip"} if encoding == "gzip" else {}))
    assert (answer.status, answer.headers["smithy-protocol"]) == (200, "rpc-v2-cbor")
    assert metric.total()["Sum"] == 3


@source(RPC_CBOR, QUERY_COMPATIBLE, MEASURED_CLOUDWATCH)
def test_a_cbor_error_names_its_shape_and_has_the_older_code_in_a_header(aws):
    body = {"AlarmName": "nowhere", "StateValue": "OK", "StateReason": "testing"}
    answer = cbor(aws, "SetAlarmState", body, **{"x-amzn-query-mode": "true"})
    assert (answer.status, answer.headers["smithy-protocol"]) == (404, "rpc-v2-cbor")
    assert answer.headers["content-type"] == "application/cbor"
    assert answer.headers["x-amzn-query-error"] == "ResourceNotFound;Sender"
    assert cbor2.loads(answer.body)["__type"].rpartition("#")[2] in ("ResourceNotFound", "ResourceNotFoundException")


@source(RPC_CBOR)
def test_cbor_that_is_none_is_refused(aws):
    path = "/service/GraniteServiceVersion20100801/operation/PutMetricData"
    headers = {"Content-Type": "application/cbor", "Smithy-Protocol": "rpc-v2-cbor"}
    assert post(aws.url, "monitoring", headers, b"\xff\x00", path).status == 400


@source(MEASURED_CLOUDWATCH)
def test_a_json_error_names_its_shape(aws):
    body = {"AlarmName": "nowhere", "StateValue": "OK", "StateReason": "testing"}
    answer = aws_json(aws.url, "GraniteServiceVersion20100801.SetAlarmState", body)
    assert answer.status == 404
    assert answer.json["__type"].rpartition("#")[2] == "ResourceNotFound"


@source(MEASURED_CLOUDWATCH)
def test_a_query_error_is_xml(aws):
    parameters = {"AlarmName": "nowhere", "StateValue": "OK", "StateReason": "testing"}
    answer = query(aws.url, "monitoring", "SetAlarmState", **parameters)
    assert (answer.status, answer.xml.tag) == (404, "ErrorResponse")
    assert (answer.text("Error/Code"), answer.text("Error/Type")) == ("ResourceNotFound", "Sender")
