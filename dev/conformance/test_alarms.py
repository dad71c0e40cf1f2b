import json
import uuid
from datetime import datetime, timedelta

import pytest

from aws import refusal, refused
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
        """Puts an alarm with the usual rule, except for these parameters. Those that are None are omitted."""
        parameters = {"AlarmName": self.name, **self.metric.itself, **RULE, **parameters}
        self.cloudwatch.put_metric_alarm(**{name: value for name, value in parameters.items() if value is not None})

    def described(self) -> dict:
        [alarm] = self.cloudwatch.describe_alarms(AlarmNames=[self.name])["MetricAlarms"]
        return alarm

    def state(self) -> str:
        return self.described()["StateValue"]

    def set(self, state: str) -> None:
        self.cloudwatch.set_alarm_state(AlarmName=self.name, StateValue=state, StateReason="testing")


@pytest.fixture
def alarm(metric) -> Alarm:
    """Returns an alarm on a metric without values."""
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


ARN = "arn:aws:sns:eu-west-1:123456789012:"


@source(DESCRIBE, PUT)
def test_what_an_alarm_may_have_besides_is_described_too(metric):
    more = {
        "ActionsEnabled": False,
        "AlarmActions": [f"{ARN}alarm"],
        "AlarmDescription": "too many",
        "DatapointsToAlarm": 2,
        "EvaluateLowSampleCountPercentile": "ignore",
        "EvaluationPeriods": 3,
        "ExtendedStatistic": "p99.9",
        "OKActions": [f"{ARN}ok"],
    }
    described = Alarm(metric, Statistic=None, **more).described()
    assert {name: described.get(name) for name in more} == more
    assert "Statistic" not in described


@source(DESCRIBE)
def test_alarms_are_found_by_type_and_by_action(metric):
    arn = ARN + uuid.uuid4().hex
    alarm = Alarm(metric, OKActions=[arn])
    for filters, found in [
        ({"ActionPrefix": arn[:-4]}, [alarm.name]),
        ({"AlarmNames": [alarm.name], "AlarmTypes": ["CompositeAlarm"]}, []),
        ({"AlarmNames": [alarm.name], "AlarmTypes": ["CompositeAlarm", "MetricAlarm"]}, [alarm.name]),
        ({"AlarmNames": [alarm.name], "ActionPrefix": f"{arn}-2"}, []),
    ]:
        alarms = alarm.cloudwatch.describe_alarms(**filters)["MetricAlarms"]
        assert [each["AlarmName"] for each in alarms] == found, filters


@source(DESCRIBE)
def test_alarms_come_in_pages(metric):
    ask = {"AlarmNames": sorted(Alarm(metric).name for _ in range(2)), "MaxRecords": 1}
    first = metric.cloudwatch.describe_alarms(**ask)
    second = metric.cloudwatch.describe_alarms(**ask, NextToken=first["NextToken"])
    assert [each["AlarmName"] for page in (first, second) for each in page["MetricAlarms"]] == ask["AlarmNames"]
    assert "NextToken" not in second


test_a_description_that_cannot_be_given_is_refused = refusal(
    f"{BAD}|InvalidNextToken", "aws", lambda aws, bad: aws.cloudwatch.describe_alarms(**bad), DESCRIBE,
    cases={
        "MaxRecords 0": {"MaxRecords": 0},
        "MaxRecords 101": {"MaxRecords": 101},
        "StateValue FINE": {"StateValue": "FINE"},
        "names and a prefix": {"AlarmNames": ["a"], "AlarmNamePrefix": "a"},
        "NextToken mine": {"NextToken": "mine"},
    })


@source(cloudwatch("DescribeAlarmsForMetric"))
def test_alarms_are_found_by_their_metric_and_its_statistic(alarm):
    def found(**more) -> list[str]:
        alarms = alarm.cloudwatch.describe_alarms_for_metric(**alarm.metric.itself, **more)["MetricAlarms"]
        return [each["AlarmName"] for each in alarms]

    assert (found(), found(Statistic="Sum"), found(Statistic="Average")) == ([alarm.name], [alarm.name], [])


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
test_data_of_a_state_that_is_not_json_is_refused = refusal(
    "InvalidFormat|ValidationError", "alarm", lambda alarm: alarm.cloudwatch.set_alarm_state(
        AlarmName=alarm.name, StateValue="OK", StateReason="testing", StateReasonData="{"), SET)


@source(SET, DESCRIBE)
def test_a_state_that_is_set_again_is_no_change_of_state(alarm, clock):
    clock.leave_the_edge()
    alarm.set("ALARM")
    before = alarm.described()
    alarm.set("ALARM")
    after = alarm.described()
    assert after["StateUpdatedTimestamp"] > before["StateUpdatedTimestamp"]
    assert after["StateTransitionedTimestamp"] == before["StateTransitionedTimestamp"]
    history = alarm.cloudwatch.describe_alarm_history(AlarmName=alarm.name, HistoryItemType="StateUpdate")
    assert len(history["AlarmHistoryItems"]) == 1


@source(SET)
def test_a_state_that_is_set_lasts_until_the_next_evaluation(alarm, clock):
    alarm.set("ALARM")
    clock.until(lambda: alarm.state() == "INSUFFICIENT_DATA", seconds=120, step=60)
    assert alarm.described()["StateReason"] == "Insufficient Data: 1 datapoint was unknown."


@source(PUT)
def test_an_alarm_that_is_put_again_keeps_its_state(alarm):
    alarm.set("ALARM")
    alarm.put(Threshold=7.0)
    assert (alarm.state(), alarm.described()["Threshold"]) == ("ALARM", 7)


@source(cloudwatch("DeleteAlarms"), MEASURED_CLOUDWATCH)
def test_a_deleted_alarm_is_gone(aws, alarm):
    aws.cloudwatch.delete_alarms(AlarmNames=[alarm.name])
    assert aws.cloudwatch.describe_alarms(AlarmNames=[alarm.name])["MetricAlarms"] == []


@source(cloudwatch("DeleteAlarms"))
def test_alarms_are_deleted_together_or_not_at_all(aws, alarm):
    refused("ResourceNotFound", aws.cloudwatch.delete_alarms, AlarmNames=[alarm.name, "nowhere"], status=404)
    assert alarm.state() == "INSUFFICIENT_DATA"
    refused(BAD, aws.cloudwatch.delete_alarms, AlarmNames=[])


@source(cloudwatch("DisableAlarmActions"), cloudwatch("EnableAlarmActions"))
def test_the_actions_of_an_alarm_are_switched_off_and_on(aws, alarm):
    for switch, enabled in [(aws.cloudwatch.disable_alarm_actions, False), (aws.cloudwatch.enable_alarm_actions, True)]:
        switch(AlarmNames=[alarm.name])
        assert alarm.described()["ActionsEnabled"] is enabled


@source(cloudwatch("DescribeAlarmHistory"))
def test_changes_of_an_alarm_are_in_the_history_by_kind_time_and_order(aws, alarm):
    def history(**filters) -> list[dict]:
        return aws.cloudwatch.describe_alarm_history(AlarmName=alarm.name, **filters)["AlarmHistoryItems"]

    alarm.set("ALARM")
    [item] = history(HistoryItemType="StateUpdate")
    assert item["HistorySummary"] == "Alarm updated from INSUFFICIENT_DATA to ALARM"
    data = json.loads(item["HistoryData"])
    assert (data["oldState"]["stateValue"], data["newState"]["stateValue"]) == ("INSUFFICIENT_DATA", "ALARM")
    kinds = ["StateUpdate", "ConfigurationUpdate"]
    assert [each["HistoryItemType"] for each in history()] == kinds
    assert [each["HistoryItemType"] for each in history(ScanBy="TimestampAscending")] == kinds[::-1]
    hour = timedelta(hours=1)
    now = datetime.now(item["Timestamp"].tzinfo)
    assert (len(history(EndDate=now + hour)), history(StartDate=now + hour)) == (2, [])


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
        "Period 60 EvaluationPeriods 1441": {"EvaluationPeriods": 1_441},
        "DatapointsToAlarm 0": {"DatapointsToAlarm": 0},
        "no Threshold": {"Threshold": None},
        "no Statistic": {"Statistic": None},
        "two statistics": {"ExtendedStatistic": "p99"},
        "a name of 256 characters": {"AlarmName": "a" * 256},
        "a description of 1025 characters": {"AlarmDescription": "a" * 1_025},
        "an action without an ARN": {"AlarmActions": ["page me"]},
        "six actions": {"AlarmActions": [f"{ARN}{each}" for each in range(6)]},
    })


@source(PUT)
@pytest.mark.parametrize("period", [10, 30, 300])
def test_a_period_may_be_10_20_or_30_seconds_or_whole_minutes(metric, period):
    assert Alarm(metric, Period=period).described()["Period"] == period
