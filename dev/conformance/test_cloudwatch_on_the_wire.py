import gzip
import re
import time

import cbor2
import pytest

from aws import refused
from metrics import Metric, span
from sources import MEASURED_CLOUDWATCH, MEASURED_CLOUDWATCH_TESTS, QUERY_COMPATIBLE, RPC_CBOR, cloudwatch, source
from test_alarms import NOWHERE, Alarm
from test_metric_data import UNLIKE_LENGTHS
from wire import Answer, aws_json, post, query

PUT = cloudwatch("PutMetricData")


@pytest.fixture(params=["smithy-rpc-v2-cbor", "json", "query"])
def protocol(request) -> str:
    return request.param


@pytest.fixture
def spoken(aws, protocol) -> Metric:
    """Returns a metric as a client of one protocol sees it."""
    return Metric(aws.client("cloudwatch", protocol), Shop="tea & <milk>")


def cbor(aws, operation: str, body: bytes, **headers: str) -> Answer:
    path = f"/service/GraniteServiceVersion20100801/operation/{operation}"
    spoken = {"Content-Type": "application/cbor", "Smithy-Protocol": "rpc-v2-cbor", "Accept": "application/cbor"}
    return post(aws.url, "monitoring", {**spoken, **headers}, body, path)


@source(PUT, MEASURED_CLOUDWATCH)
def test_values_are_put_and_read_in_each_protocol(spoken):
    spoken.put(1.5, {"Values": [2.0, 4.0], "Counts": [1.0, 2.0]})
    spoken.put({"StatisticValues": {"SampleCount": 2.0, "Sum": 3.0, "Minimum": 1.0, "Maximum": 2.0}})
    assert spoken.total() == {"SampleCount": 6, "Sum": 14.5, "Minimum": 1, "Maximum": 4}
    assert spoken.cloudwatch.list_metrics(Namespace=spoken.namespace)["Metrics"] == [spoken.itself]


@source(MEASURED_CLOUDWATCH)
def test_an_alarm_is_put_described_and_set_in_each_protocol(spoken):
    alarm = Alarm(spoken)
    assert alarm.state() == "INSUFFICIENT_DATA"
    alarm.set("ALARM")
    described = alarm.described()
    assert (described["StateValue"], described["Threshold"], described["Period"]) == ("ALARM", 1, 60)
    assert described["StateUpdatedTimestamp"].year >= 2024


@source(MEASURED_CLOUDWATCH)
def test_errors_have_the_same_code_in_each_protocol(spoken):
    refused("ResourceNotFound", spoken.cloudwatch.set_alarm_state, status=404, **NOWHERE)
    refused(UNLIKE_LENGTHS, spoken.put, {"Values": [1.0, 2.0], "Counts": [1.0]})


@source(PUT)
def test_a_request_may_be_gzipped_in_each_protocol(aws, protocol):
    metric = Metric(aws.client("cloudwatch", protocol, request_min_compression_size_bytes=1))
    sent = []
    metric.cloudwatch.meta.events.register("before-send.cloudwatch", lambda request, **_: sent.append(request))
    metric.put(*[1] * 100)
    assert [request.headers["Content-Encoding"] for request in sent] in (["gzip"], [b"gzip"])
    assert metric.total()["SampleCount"] == 100


@source(RPC_CBOR)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_cbor_by_hand_is_understood(aws, metric, encoding):
    data = [{"MetricName": metric.name, "Value": 3, "Timestamp": cbor2.CBORTag(1, time.time())}]
    body = cbor2.dumps({"Namespace": metric.namespace, "MetricData": data})
    zipped = (gzip.compress(body), {"Content-Encoding": "gzip"})
    body, headers = zipped if encoding == "gzip" else (body, {})
    answer = cbor(aws, "PutMetricData", body, **headers)
    assert (answer.status, answer.headers["smithy-protocol"]) == (200, "rpc-v2-cbor")
    assert metric.total()["Sum"] == 3


@source(RPC_CBOR, MEASURED_CLOUDWATCH_TESTS)
def test_cbor_may_leave_open_how_long_its_lists_and_maps_are(aws, metric):
    number = cbor2.dumps(3.0)
    body = b"".join((
        b"\xbf", cbor2.dumps("Namespace"), cbor2.dumps(metric.namespace), cbor2.dumps("MetricData"), b"\x9f\xbf",
        cbor2.dumps("MetricName"), cbor2.dumps(metric.name), cbor2.dumps("Values"), b"\x9f", number, number,
        b"\xff\xff\xff\xff"))
    assert cbor(aws, "PutMetricData", body).status == 200
    assert metric.total()["Sum"] == 6
    query = {**span(), "MetricDataQueries": [metric.query()]}
    query |= {name: cbor2.CBORTag(1, query[name].timestamp()) for name in ("StartTime", "EndTime")}
    answer = cbor(aws, "GetMetricData", cbor2.dumps(query))
    [result] = cbor2.loads(answer.body)["MetricDataResults"]
    assert result["Values"] == [6]
    # A list of open length with a tagged timestamp and a double.
    assert b"Timestamps\x9f\xc1\xfbA" in answer.body


@source(MEASURED_CLOUDWATCH_TESTS)
def test_timestamps_in_xml_have_a_fraction_only_if_there_is_one(aws, metric):
    metric.put(1)
    metric_stat = {f"MetricDataQueries.member.1.MetricStat.{name}": value for name, value in {
        "Metric.Namespace": metric.namespace, "Metric.MetricName": metric.name, "Period": 60, "Stat": "Sum"}.items()}
    times = {name: f"{time:%Y-%m-%dT%H:%M:%SZ}" for name, time in span().items()}
    answer = query(aws.url, "monitoring", "GetMetricData",
                   more={"MetricDataQueries.member.1.Id": "m", **metric_stat, **times})
    found = answer.text("GetMetricDataResult/MetricDataResults/member/Timestamps/member")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:00Z", found)


@source(RPC_CBOR, QUERY_COMPATIBLE, MEASURED_CLOUDWATCH)
def test_a_cbor_error_names_its_shape_and_has_the_older_code_in_a_header(aws):
    answer = cbor(aws, "SetAlarmState", cbor2.dumps(NOWHERE), **{"x-amzn-query-mode": "true"})
    assert (answer.status, answer.headers["smithy-protocol"]) == (404, "rpc-v2-cbor")
    assert cbor(aws, "SetAlarmState", cbor2.dumps(NOWHERE)).status == 400
    assert answer.headers["content-type"] == "application/cbor"
    assert answer.headers["x-amzn-query-error"] == "ResourceNotFound;Sender"
    assert cbor2.loads(answer.body)["__type"].rpartition("#")[2] in ("ResourceNotFound", "ResourceNotFoundException")


@source(MEASURED_CLOUDWATCH)
def test_each_kind_of_alarm_has_its_list(aws):
    names = {"AlarmNames": ["nowhere"]}
    empty = {"CompositeAlarms": [], "LogAlarms": [], "MetricAlarms": []}
    assert aws_json(aws.url, "GraniteServiceVersion20100801.DescribeAlarms", names).json == empty
    assert cbor2.loads(cbor(aws, "DescribeAlarms", cbor2.dumps(names)).body) == empty
    lists = query(aws.url, "monitoring", "DescribeAlarms", more={"AlarmNames.member.1": "nowhere"}).xml[0]
    assert {each.tag: list(each) for each in lists} == empty


@source(RPC_CBOR)
def test_cbor_that_is_none_is_refused(aws):
    assert cbor(aws, "PutMetricData", b"\xff\x00").status == 400


@source(MEASURED_CLOUDWATCH)
def test_a_json_error_names_its_shape(aws):
    operation = "GraniteServiceVersion20100801.SetAlarmState"
    answer = aws_json(aws.url, operation, NOWHERE)
    assert answer.status == 400
    assert aws_json(aws.url, operation, NOWHERE, **{"x-amzn-query-mode": "false"}).status == 400
    assert aws_json(aws.url, operation, NOWHERE, **{"x-amzn-query-mode": "true"}).status == 404
    assert answer.json["__type"].rpartition("#")[2] == "ResourceNotFound"


@source(MEASURED_CLOUDWATCH)
def test_a_query_error_is_xml(aws):
    answer = query(aws.url, "monitoring", "SetAlarmState", **NOWHERE)
    assert (answer.status, answer.xml.tag) == (404, "ErrorResponse")
    assert (answer.text("Error/Code"), answer.text("Error/Type")) == ("ResourceNotFound", "Sender")


@source(MEASURED_CLOUDWATCH)
def test_percentiles_are_read_in_each_protocol(spoken):
    spoken.put(1.5)
    [point] = spoken.statistics(ExtendedStatistics=["p90"])
    assert point["ExtendedStatistics"] == {"p90": 1.5}
