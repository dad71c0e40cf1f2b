import uuid

import pytest

from aws import refused
from metrics import Metric
from sources import MEASURED_CLOUDWATCH, cloudwatch, source

PUT = cloudwatch("PutMetricAlarm")
DESCRIBE = cloudwatch("DescribeAlarms")
SET = cloudwatch("SetAlarmState")
BAD = "ValidationError|InvalidParameterValue|InvalidParameterCombination"


class Alarm:
    """An alarm on a metric that nobody has put values to, unless told otherwise."""

    def __init__(self, aws, metric: Metric | None = None, **parameters):
        self.cloudwatch, self.name = aws.cloudwatch, f"alarm-{uuid.uuid4().hex[:12]}"
        self.metric = metric or Metric(aws.cloudwatch)
        self.put(**parameters)

    def put(self, **parameters) -> None:
        defaults = {
            "Statistic": "Sum",
            "Period": 60,
            "EvaluationPeriods": 1,
            "Threshold": 1.0,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        }
        parameters = {**self.metric.itself, **defaults, **parameters}
        self.cloudwatch.put_metric_alarm(AlarmName=self.name, **parameters)

    def described(self) -> dict:
        [alarm] = self.cloudwatch.describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return alarm

    def state(self) -> str:
        return self.described()["StateValue"]

    def set(self, state: str) -> None:
        self.cloudwatch.set_alarm_state(AlarmName=self.name, StateValue=state, StateReason="testing")


@source(PUT, MEASURED_CLOUDWATCH)
def test_an_alarm_begins_with_insufficient_data(aws):
    alarm = Alarm(aws).described()
    assert alarm["StateValue"] == "INSUFFICIENT_DATA"
    assert alarm["StateReason"] == "Unchecked: Initial alarm creation"


@source(DESCRIBE, MEASURED_CLOUDWATCH)
def test_an_alarm_is_described_as_it_was_put(aws):
    alarm = Alarm(aws, Metric(aws.cloudwatch, Shop="a"), Threshold=30.5, TreatMissingData="ignore", Unit="Count")
    described = alarm.described()
    expected = {
        **alarm.metric.itself,
        "AlarmName": alarm.name,
        "ActionsEnabled": True,
        "AlarmActions": [],
        "OKActions": [],
        "InsufficientDataActions": [],
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 30.5,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "ignore",
        "Unit": "Count",
    }
    assert {name: described.get(name) for name in expected} == expected
    assert described["AlarmArn"].startswith("arn:aws:cloudwatch:eu-west-1:")
    assert described["AlarmArn"].endswith(f":alarm:{alarm.name}")
    assert "DatapointsToAlarm" not in described


@source(DESCRIBE)
def test_alarms_are_found_by_prefix_and_by_state(aws):
    alarm = Alarm(aws)
    alarm.set("ALARM")
    for filters, found in [
        ({"AlarmNamePrefix": alarm.name[:12]}, [alarm.name]),
        ({"AlarmNames": [alarm.name], "StateValue": "ALARM"}, [alarm.name]),
        ({"AlarmNames": [alarm.name], "StateValue": "OK"}, []),
        ({"AlarmNames": [alarm.name + "-nowhere"]}, []),
    ]:
        alarms = aws.cloudwatch.describe_alarms(**filters)["MetricAlarms"]
        assert [each["AlarmName"] for each in alarms] == found, filters


@source(SET, MEASURED_CLOUDWATCH)
@pytest.mark.parametrize("state", ["OK", "ALARM", "INSUFFICIENT_DATA"])
def test_the_state_of_an_alarm_can_be_set(aws, state):
    alarm = Alarm(aws)
    alarm.set(state)
    assert (alarm.state(), alarm.described()["StateReason"]) == (state, "testing")


@source(SET, MEASURED_CLOUDWATCH)
def test_a_state_that_is_none_is_refused(aws):
    says = "Value 'INVALID' at 'stateValue' failed to satisfy constraint"
    refused("ValidationError", Alarm(aws).set, "INVALID", says=says)


@source(SET, MEASURED_CLOUDWATCH)
def test_the_state_of_an_alarm_that_does_not_exist_cannot_be_set(aws):
    parameters = {"AlarmName": "nowhere", "StateValue": "OK", "StateReason": "testing"}
    refused("ResourceNotFound", aws.cloudwatch.set_alarm_state, status=404, **parameters)


@source(PUT)
def test_an_alarm_that_is_put_again_keeps_its_state(aws):
    alarm = Alarm(aws)
    alarm.set("ALARM")
    alarm.put(Threshold=7.0)
    assert (alarm.state(), alarm.described()["Threshold"]) == ("ALARM", 7)


@source(cloudwatch("DeleteAlarms"), MEASURED_CLOUDWATCH)
def test_a_deleted_alarm_is_gone(aws):
    alarm = Alarm(aws)
    aws.cloudwatch.delete_alarms(AlarmNames=[alarm.name])
    assert aws.cloudwatch.describe_alarms(AlarmNames=[alarm.name])["MetricAlarms"] == []


@source(cloudwatch("DescribeAlarmHistory"))
def test_changes_of_state_are_in_the_history(aws):
    alarm = Alarm(aws)
    alarm.set("ALARM")
    history = aws.cloudwatch.describe_alarm_history(AlarmName=alarm.name, HistoryItemType="StateUpdate")
    [item] = history["AlarmHistoryItems"]
    assert item["HistorySummary"] == "Alarm updated from INSUFFICIENT_DATA to ALARM"


@source(PUT)
@pytest.mark.parametrize(
    "bad",
    [
        {"Period": 7},
        {"Period": 90},
        {"EvaluationPeriods": 0},
        {"DatapointsToAlarm": 2},
        {"ComparisonOperator": "Greater"},
        {"TreatMissingData": "zero"},
        {"Statistic": "Median"},
        {"Period": 3_600, "EvaluationPeriods": 24 * 8},
    ],
    ids=lambda bad: " ".join(f"{name} {value}" for name, value in bad.items()),
)
def test_an_alarm_that_breaks_the_rules_is_refused(aws, bad):
    refused(BAD, Alarm, aws, **bad)


@source(PUT)
@pytest.mark.parametrize("period", [10, 30, 300])
def test_a_period_may_be_10_20_or_30_seconds_or_whole_minutes(aws, period):
    assert Alarm(aws, Period=period).described()["Period"] == period
