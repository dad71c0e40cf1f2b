import uuid

import pytest

from aws import refusal
from metrics import Metric
from sources import MEASURED_CLOUDWATCH, cloudwatch, source

PUT = cloudwatch("PutMetricAlarm")
DESCRIBE = cloudwatch("DescribeAlarms")
SET = cloudwatch("SetAlarmState")
BAD = "ValidationError|InvalidParameterValue|InvalidParameterCombination"
NOWHERE = {"AlarmName": "nowhere", "StateValue": "OK", "StateReason": "testing"}
RULE = {
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 1.0,
    "ComparisonOperator": "GreaterThanOrEqualToThreshold",
}


class Alarm:
    def __init__(self, metric: Metric, **parameters):
        self.cloudwatch, self.metric, self.name = metric.cloudwatch, metric, f"alarm-{uuid.uuid4().hex[:12]}"
        self.put(**parameters)

    def put(self, **parameters) -> None:
        parameters = {**self.metric.itself, **RULE, **parameters}
        self.cloudwatch.put_metric_alarm(AlarmName=self.name, **parameters)

    def described(self) -> dict:
        [alarm] = self.cloudwatch.describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return alarm

    def state(self) -> str:
        return self.described()["StateValue"]

    def set(self, state: str) -> None:
        self.cloudwatch.set_alarm_state(AlarmName=self.name, StateValue=state, StateReason="testing")


@pytest.fixture
def alarm(metric) -> Alarm:
    """An alarm on a metric that nobody has put values to."""
    return Alarm(metric)


@source(PUT, MEASURED_CLOUDWATCH)
def test_an_alarm_begins_with_insufficient_data(alarm):
    alarm = alarm.described()
    assert alarm["StateValue"] == "INSUFFICIENT_DATA"
    assert alarm["StateReason"] == "Unchecked: Initial alarm creation"


@source(DESCRIBE, MEASURED_CLOUDWATCH)
def test_an_alarm_is_described_as_it_was_put(aws):
    alarm = Alarm(Metric(aws.cloudwatch, Shop="a"), Threshold=30.5, TreatMissingData="ignore", Unit="Count")
    described = alarm.described()
    expected = {
        **alarm.metric.itself,
        **RULE,
        "AlarmName": alarm.name,
        "ActionsEnabled": True,
        "AlarmActions": [],
        "OKActions": [],
        "InsufficientDataActions": [],
        "Threshold": 30.5,
        "TreatMissingData": "ignore",
        "Unit": "Count",
    }
    assert {name: described.get(name) for name in expected} == expected
    assert described["AlarmArn"].startswith("arn:aws:cloudwatch:eu-west-1:")
    assert described["AlarmArn"].endswith(f":alarm:{alarm.name}")
    assert "DatapointsToAlarm" not in described


@source(DESCRIBE)
def test_alarms_are_found_by_prefix_and_by_state(aws, alarm):
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
def test_the_state_of_an_alarm_can_be_set(alarm, state):
    alarm.set(state)
    assert (alarm.state(), alarm.described()["StateReason"]) == (state, "testing")


test_a_state_that_is_none_is_refused = refusal(
    "ValidationError: Value 'INVALID' at 'stateValue' failed to satisfy constraint",
    "alarm", lambda alarm: alarm.set("INVALID"), SET, MEASURED_CLOUDWATCH)
test_the_state_of_an_alarm_that_does_not_exist_cannot_be_set = refusal(
    "ResourceNotFound", "aws", lambda aws: aws.cloudwatch.set_alarm_state(**NOWHERE), SET, MEASURED_CLOUDWATCH,
    status=404)


@source(PUT)
def test_an_alarm_that_is_put_again_keeps_its_state(alarm):
    alarm.set("ALARM")
    alarm.put(Threshold=7.0)
    assert (alarm.state(), alarm.described()["Threshold"]) == ("ALARM", 7)


@source(cloudwatch("DeleteAlarms"), MEASURED_CLOUDWATCH)
def test_a_deleted_alarm_is_gone(aws, alarm):
    aws.cloudwatch.delete_alarms(AlarmNames=[alarm.name])
    assert aws.cloudwatch.describe_alarms(AlarmNames=[alarm.name])["MetricAlarms"] == []


@source(cloudwatch("DescribeAlarmHistory"))
def test_changes_of_state_are_in_the_history(aws, alarm):
    alarm.set("ALARM")
    history = aws.cloudwatch.describe_alarm_history(AlarmName=alarm.name, HistoryItemType="StateUpdate")
    [item] = history["AlarmHistoryItems"]
    assert item["HistorySummary"] == "Alarm updated from INSUFFICIENT_DATA to ALARM"


test_an_alarm_that_breaks_the_rules_is_refused = refusal(
    BAD, "metric", lambda metric, bad: Alarm(metric, **bad), PUT,
    cases={
        "Period 7": {"Period": 7},
        "Period 90": {"Period": 90},
        "EvaluationPeriods 0": {"EvaluationPeriods": 0},
        "DatapointsToAlarm 2": {"DatapointsToAlarm": 2},
        "ComparisonOperator Greater": {"ComparisonOperator": "Greater"},
        "TreatMissingData zero": {"TreatMissingData": "zero"},
        "Statistic Median": {"Statistic": "Median"},
        "Period 3600 EvaluationPeriods 192": {"Period": 3_600, "EvaluationPeriods": 192},
    })


@source(PUT)
@pytest.mark.parametrize("period", [10, 30, 300])
def test_a_period_may_be_10_20_or_30_seconds_or_whole_minutes(metric, period):
    assert Alarm(metric, Period=period).described()["Period"] == period
