"""Talks to the CloudWatch of redrive-local as any boto3 program would. Usage: check_cloudwatch.py URL

Everything is checked in each protocol that CloudWatch speaks; boto3 itself takes the first that it knows.
Raises at the first thing that is not as CloudWatch has it.
"""

import sys
from datetime import datetime, timedelta, timezone

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

PROTOCOLS = ["smithy-rpc-v2-cbor", "json", "query"]
ORDERS = [{"Name": "QueueName", "Value": "orders & mails"}]


def equal(found, expected, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what} is {found!r} instead of {expected!r}")


def refused(code: str, message: str, call, **parameters) -> None:
    try:
        call(**parameters)
    except ClientError as error:
        equal(error.response["Error"]["Code"], code, "the error's code")
        if message not in error.response["Error"].get("Message", ""):
            raise AssertionError(f"{error} does not say {message!r}") from error
        return
    raise AssertionError(f"nothing was refused; {code} was expected")


def put(cloudwatch, namespace: str) -> None:
    statistics = {"SampleCount": 2, "Sum": 9, "Minimum": 4, "Maximum": 5}
    alone = {"MetricName": "Orders", "Dimensions": ORDERS, "Unit": "Count"}
    several = [{**alone, "Value": 1.5}, {**alone, "Values": [2, 3], "Counts": [1, 2]}]
    cloudwatch.put_metric_data(Namespace=namespace, MetricData=several)
    many = [{"MetricName": f"Metric{number}", "StatisticValues": statistics} for number in range(300)]
    cloudwatch.put_metric_data(Namespace=namespace, MetricData=many)


def read(cloudwatch, namespace: str) -> None:
    now = datetime.now(timezone.utc)
    span = {"StartTime": now - timedelta(minutes=2), "EndTime": now + timedelta(minutes=1)}
    metric = {"Namespace": namespace, "MetricName": "Orders", "Dimensions": ORDERS}
    statistics = {"Statistics": ["Sum", "SampleCount"], "ExtendedStatistics": ["p50"]}
    found = cloudwatch.get_metric_statistics(**metric, **span, Period=180, **statistics)
    [point] = found["Datapoints"]
    equal((point["Sum"], point["SampleCount"], point["Unit"]), (9.5, 4.0, "Count"), "what was put")
    equal(point["ExtendedStatistics"], {"p50": 2.0}, "the median")
    equal(point["Timestamp"].second, 0, "the second at which a period begins")
    query = {"Id": "m1", "MetricStat": {"Metric": metric, "Period": 180, "Stat": "Average"}}
    found = cloudwatch.get_metric_data(MetricDataQueries=[query], **span)["MetricDataResults"]
    equal([(each["Id"], each["Label"], each["Values"]) for each in found], [("m1", "Orders", [2.375])], "the average")
    listed = cloudwatch.list_metrics(Namespace=namespace, Dimensions=[{"Name": "QueueName"}])["Metrics"]
    equal(listed, [metric], "the metric with that dimension")
    equal(len(cloudwatch.list_metrics(Namespace=namespace)["Metrics"]), 301, "the number of metrics")


def alarms(cloudwatch, name: str) -> None:
    rule = {"Statistic": "Sum", "Period": 60, "EvaluationPeriods": 2, "DatapointsToAlarm": 1, "Threshold": 2.5}
    rule |= {"ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": "ignore", "AlarmDescription": "<&>"}
    metric = {"Namespace": "Nobody", "MetricName": "Puts", "Dimensions": ORDERS}
    cloudwatch.put_metric_alarm(AlarmName=name, **metric, **rule)
    [alarm] = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    for field, value in {**metric, **rule, "StateValue": "INSUFFICIENT_DATA", "ActionsEnabled": True}.items():
        equal(alarm[field], value, field)
    equal(alarm["StateReason"], "Unchecked: Initial alarm creation", "the reason")
    equal(alarm["AlarmArn"].split(":", 5)[2:], ["cloudwatch", "eu-west-1", "123456789012", f"alarm:{name}"], "the ARN")
    cloudwatch.disable_alarm_actions(AlarmNames=[name])
    equal(cloudwatch.describe_alarms_for_metric(**metric)["MetricAlarms"][0]["ActionsEnabled"], False, "what is enabled")
    cloudwatch.enable_alarm_actions(AlarmNames=[name])
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="drill", StateReasonData='{"a": 1}')
    names = [each["AlarmName"] for each in cloudwatch.describe_alarms(StateValue="ALARM")["MetricAlarms"]]
    equal(names, [name], "the alarms that are on")
    history = cloudwatch.describe_alarm_history(AlarmName=name, HistoryItemType="StateUpdate")["AlarmHistoryItems"]
    equal([each["HistorySummary"] for each in history], ["Alarm updated from INSUFFICIENT_DATA to ALARM"], "the history")
    cloudwatch.delete_alarms(AlarmNames=[name])
    equal(cloudwatch.describe_alarms()["MetricAlarms"], [], "the alarms that are left")


def errors(cloudwatch, protocol: str) -> None:
    def data(**fields):
        return {"Namespace": "Shop", "MetricData": [{"MetricName": "Orders", **fields}]}

    refused("InvalidParameterValue", "value NaN for", cloudwatch.put_metric_data, **data(Value=float("nan")))
    refused("InvalidParameterValue", "value Infinity for", cloudwatch.put_metric_data, **data(Value=float("inf")))
    refused("InvalidParameterCombination", "mutually exclusive", cloudwatch.put_metric_data, **data(Value=1, Values=[1]))
    refused("InvalidParameterValue", "same size", cloudwatch.put_metric_data, **data(Values=[1, 2], Counts=[1]))
    long_ago = datetime.now(timezone.utc) - timedelta(days=15)
    refused("InvalidParameterValue", "two weeks", cloudwatch.put_metric_data, **data(Value=1, Timestamp=long_ago))
    own = {**data(Value=1), "Namespace": "AWS/SQS"}
    refused("InvalidParameterValue", "parameter Namespace", cloudwatch.put_metric_data, **own)
    state = {"StateReason": "drill", "AlarmName": "none"}
    invalid = "1 validation error detected: Value 'INVALID' at 'stateValue' failed to satisfy constraint: Member must "
    invalid += "satisfy enum value set: [INSUFFICIENT_DATA, ALARM, OK]"
    refused("ValidationError", invalid, cloudwatch.set_alarm_state, **state, StateValue="INVALID")
    refused("ResourceNotFound", "", cloudwatch.set_alarm_state, **state, StateValue="OK")
    # What the exceptions are called in Python does not depend on the protocol either.
    try:
        cloudwatch.describe_alarms(NextToken="mine")
    except cloudwatch.exceptions.InvalidNextToken:
        return
    raise AssertionError(f"no InvalidNextToken by {protocol}")


def client(url: str, protocol: str):
    """A client that is told that CloudWatch speaks one protocol only."""
    session = boto3.Session("test", "test", region_name="eu-west-1")
    model = session._session.get_component("data_loader").load_service_model("cloudwatch", "service-2")
    model["metadata"]["protocols"] = [protocol]
    limits = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 1})
    cloudwatch = session.client("cloudwatch", endpoint_url=url, config=limits)
    equal(cloudwatch.meta.service_model.resolved_protocol, protocol, "the protocol")
    return cloudwatch


def main(url: str) -> None:
    for protocol in PROTOCOLS:
        cloudwatch = client(url, protocol)
        put(cloudwatch, f"Shop/{protocol}")
        read(cloudwatch, f"Shop/{protocol}")
        alarms(cloudwatch, f"alarm-{protocol}")
        errors(cloudwatch, protocol)


if __name__ == "__main__":
    main(sys.argv[1])
