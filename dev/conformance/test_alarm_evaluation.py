import json
import re
from datetime import datetime

import pytest

from metrics import DAY, Metric, ago, metric_of, published
from sources import DEAD_LETTER_ALARM, MEASURED_CLOUDWATCH, MISSING_DATA, QUEUE_METRICS
from sources import cloudwatch, cloudwatch_guide, source, sqs_guide
from test_alarms import Alarm

ALARMS = cloudwatch_guide("AlarmThatSendsEmail")
PUT = cloudwatch("PutMetricAlarm")
TREATMENTS = ["missing", "ignore", "breaching", "notBreaching"]
KEPT = "INSUFFICIENT_DATA"
# The tables of the page: values of five minutes, X breaches, 0 does not, - is missing; then the state by treatment.
TABLES = [
    (3, "0-X-X", ["OK", "OK", "OK", "OK"]),
    (3, "----0", ["OK", "OK", "OK", "OK"]),
    (3, "-----", ["INSUFFICIENT_DATA", KEPT, "ALARM", "OK"]),
    (3, "0XX-X", ["ALARM", "ALARM", "ALARM", "ALARM"]),
    (3, "--X--", ["ALARM", KEPT, "ALARM", "OK"]),
    (2, "0-X-X", ["ALARM", "ALARM", "ALARM", "ALARM"]),
    (2, "00X0X", ["ALARM", "ALARM", "ALARM", "ALARM"]),
    (2, "0-X--", ["OK", "OK", "ALARM", "OK"]),
    (2, "----0", ["OK", "OK", "ALARM", "OK"]),
    (2, "---X-", ["ALARM", KEPT, "ALARM", "OK"]),
    # A single value at the very end does not decide yet.
    (2, "----X", ["INSUFFICIENT_DATA", KEPT, "ALARM", "OK"]),
    (3, "----X", ["INSUFFICIENT_DATA", KEPT, "ALARM", "OK"]),
    (3, "---X-", ["INSUFFICIENT_DATA", KEPT, "ALARM", "OK"]),
    (3, "---X0", ["OK", "OK", "OK", "OK"]),
]


@source(MISSING_DATA)
@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize(("needed", "series", "states"), TABLES, ids=[f"{n} of 3 {s}" for n, s, _ in TABLES])
def test_missing_data_counts_as_the_tables_say(metric, clock, needed, series, states, treatment):
    clock.leave_the_edge()
    for back, letter in enumerate(reversed(series)):
        if letter != "-":
            metric.put({"Value": float(letter == "X"), "Timestamp": ago(back)})
    alarm = Alarm(metric, EvaluationPeriods=3, DatapointsToAlarm=needed, TreatMissingData=treatment)
    # Exactly one minute ends, and all five alarms are evaluated at its end.
    clock.let_pass(60)
    assert alarm.state() == states[TREATMENTS.index(treatment)]


@source(ALARMS)
def test_an_alarm_goes_off_when_its_metric_breaches_and_comes_back(metric, clock):
    alarm = Alarm(metric, TreatMissingData="notBreaching")
    metric.put(1)
    clock.until(lambda: alarm.state() == "ALARM", seconds=180, step=60)
    clock.until(lambda: alarm.state() == "OK", seconds=300, step=60)


@source(PUT)
@pytest.mark.parametrize(("operator", "breaching"), [
    pytest.param("GreaterThanThreshold", {2}, id="more"),
    pytest.param("GreaterThanOrEqualToThreshold", {1, 2}, id="more or equal"),
    pytest.param("LessThanThreshold", {0}, id="less"),
    pytest.param("LessThanOrEqualToThreshold", {0, 1}, id="less or equal"),
])
@pytest.mark.parametrize("value", [0, 1, 2])
def test_a_value_is_compared_as_the_operator_says(metric, clock, operator, breaching, value):
    alarm = Alarm(metric, Statistic="Maximum", ComparisonOperator=operator)
    metric.put(value)
    clock.until(lambda: alarm.state() == ("ALARM" if value in breaching else "OK"), seconds=180, step=60)


@source(PUT)
@pytest.mark.parametrize(("samples", "state"), [(1, "INSUFFICIENT_DATA"), (101, "ALARM")])
def test_a_percentile_of_few_values_changes_nothing_if_that_is_asked_for(metric, clock, samples, state):
    rule = {"Statistic": None, "ExtendedStatistic": "p90", "EvaluateLowSampleCountPercentile": "ignore"}
    alarm = Alarm(metric, **rule)
    metric.put({"Values": [5.0], "Counts": [float(samples)]})
    clock.let_pass(120)
    assert alarm.state() == state


@source(ALARMS)
def test_an_alarm_waits_for_as_many_breaching_periods_as_it_needs(metric, clock):
    clock.leave_the_edge()
    alarm = Alarm(metric, EvaluationPeriods=3, DatapointsToAlarm=2, TreatMissingData="notBreaching")
    for state in ("OK", "ALARM"):
        metric.put(1)
        clock.let_pass(60)
        assert alarm.state() == state


@source(MEASURED_CLOUDWATCH, PUT)
@pytest.mark.parametrize("period", [10, 20, 30])
@pytest.mark.parametrize("second", [5, 15, 25, 35, 45, 55])
def test_a_short_period_sees_a_value_of_a_minute_wherever_in_it_the_value_was_put(metric, clock, second, period):
    alarm = Alarm(metric, Period=period, TreatMissingData="notBreaching")
    for _ in range(3):
        clock.at(second)
        metric.put(1)
        clock.until(lambda: alarm.state() == "ALARM", seconds=20, step=10)
        clock.until(lambda: alarm.state() == "OK", seconds=180, step=10)


@source(MEASURED_CLOUDWATCH, PUT)
def test_a_short_period_with_only_some_values_keeps_its_alarm_if_missing_ones_are_ignored(metric, clock):
    alarm = Alarm(metric, Period=10, TreatMissingData="ignore")
    clock.at(45)
    metric.put(1)
    clock.until(lambda: alarm.state() == "ALARM", seconds=20, step=10)
    clock.let_pass(300)
    assert alarm.state() == "ALARM"


@source(MEASURED_CLOUDWATCH)
def test_the_reason_of_an_alarm_names_the_periods_that_are_missing(metric, clock):
    clock.leave_the_edge()
    alarm = Alarm(metric, EvaluationPeriods=2, TreatMissingData="breaching")
    clock.until(lambda: alarm.state() == "ALARM", seconds=120, step=60)
    reason = json.loads(alarm.described()["StateReasonData"])
    assert (reason["recentDatapoints"], "startDate" in reason) == ([], False)
    last, before = reason["evaluatedDatapoints"]
    assert set(last) == set(before) == {"timestamp"}
    apart = datetime.fromisoformat(last["timestamp"]) - datetime.fromisoformat(before["timestamp"])
    assert apart.total_seconds() == 60


@source(MEASURED_CLOUDWATCH)
def test_the_data_of_an_alarms_reason_has_the_evaluated_values(metric, clock):
    clock.leave_the_edge()
    for value, back in [(1, 2), (2, 0)]:
        metric.put({"Value": float(value), "Timestamp": ago(back), "Unit": "Count"})
    alarm = Alarm(metric, EvaluationPeriods=3, Unit="Count")
    clock.let_pass(60)
    reason = json.loads(alarm.described()["StateReasonData"])
    told = {"version": "1.0", "unit": "Count", "statistic": "Sum", "period": 60, "threshold": 1}
    assert {name: reason[name] for name in told} == told
    assert reason["recentDatapoints"] == [1, 2]
    evaluated = reason["evaluatedDatapoints"]
    assert [(each.get("value"), each.get("sampleCount")) for each in evaluated] == [(2, 1), (None, None), (1, 1)]
    assert reason["startDate"] == evaluated[-1]["timestamp"]


OR_EQUAL = "greater than or equal to the threshold (1.0)"
REASONS = [
    ("X", {}, f"1 datapoint [1.0] was {OR_EQUAL}"),
    ("-", {"TreatMissingData": "notBreaching"},
     "no datapoints were received for 1 period and 1 missing datapoint was treated as [NonBreaching]"),
    ("--", {"TreatMissingData": "breaching"},
     "no datapoints were received for 2 periods and 2 missing datapoints were treated as [Breaching]"),
    ("--0", {"TreatMissingData": "breaching"},
     f"1 datapoint [0.0] was not {OR_EQUAL} and 2 missing datapoints were treated as [Breaching]"),
    ("X0X", {"DatapointsToAlarm": 2}, "2 out of the last 3 datapoints [1.0, 1.0] were "
     f"{OR_EQUAL} (minimum 2 datapoints for OK -> ALARM transition)"),
    ("XX00", {"DatapointsToAlarm": 3}, "2 out of the last 4 datapoints [0.0, 0.0] were not "
     f"{OR_EQUAL} (minimum 2 datapoints for ALARM -> OK transition)"),
]


@source(cloudwatch_guide("cloudwatch-and-eventbridge"), MEASURED_CLOUDWATCH)
@pytest.mark.parametrize(("series", "rule", "says"), REASONS, ids=[series for series, *_ in REASONS])
def test_a_reason_is_worded_as_by_cloudwatch(metric, clock, series, rule, says):
    clock.leave_the_edge()
    for back, letter in enumerate(reversed(series)):
        if letter != "-":
            metric.put({"Value": float(letter == "X"), "Timestamp": ago(back)})
    alarm = Alarm(metric, EvaluationPeriods=len(series), **rule)
    clock.let_pass(60)
    described = alarm.described()
    moment = r" \((\d\d/\d\d/\d\d \d\d:\d\d:\d\d)\)"
    assert re.sub(moment, "", described["StateReason"]) == f"Threshold Crossed: {says}."
    values = [each for each in json.loads(described["StateReasonData"])["evaluatedDatapoints"] if "value" in each]
    moments = [f"{datetime.fromisoformat(each['timestamp']):%d/%m/%y %H:%M:%S}" for each in values]
    assert set(re.findall(moment, described["StateReason"])) <= set(moments)


@pytest.fixture
def depth_alarm(aws, queue) -> Alarm:
    metric = metric_of(aws, queue, "ApproximateNumberOfMessagesVisible")
    return Alarm(metric, Statistic="Maximum", TreatMissingData="notBreaching")


@source(DEAD_LETTER_ALARM)
def test_an_alarm_on_a_queue_goes_off_with_one_message_and_is_ok_when_it_is_gone(queue, depth_alarm, clock):
    queue.send()
    clock.until(lambda: depth_alarm.state() == "ALARM", seconds=180, step=60)
    queue.delete(queue.take())
    clock.until(lambda: depth_alarm.state() == "OK", seconds=300, step=60)


@source(DEAD_LETTER_ALARM)
def test_an_alarm_on_an_empty_queue_stays_quiet(depth_alarm, clock):
    clock.let_pass(180)
    assert depth_alarm.state() == "OK"


@source(QUEUE_METRICS, MEASURED_CLOUDWATCH)
def test_a_queue_publishes_what_was_sent_received_and_deleted(aws, queue, clock):
    queue.receive()
    queue.send("teas!")
    queue.delete(queue.take())
    clock.let_pass(120)
    expected = {
        "NumberOfMessagesSent": 1,
        "SentMessageSize": 5,
        "NumberOfEmptyReceives": 1,
        "NumberOfMessagesReceived": 1,
        "NumberOfMessagesDeleted": 1,
    }
    assert {name: sum(published(aws, queue, name)) for name in expected} == expected


@source(QUEUE_METRICS)
def test_a_queue_publishes_its_depths(aws, clock):
    queue = aws.queue("1", "2", "3")
    queue.receive(most=1, VisibilityTimeout=3_600)
    queue.send("4", DelaySeconds=900)
    clock.let_pass(120)
    for name, count in [("Visible", 2), ("NotVisible", 1), ("Delayed", 1)]:
        depths = published(aws, queue, f"ApproximateNumberOfMessages{name}", "Maximum")
        assert max(depths, default=None) == count, name


@source(QUEUE_METRICS)
def test_the_age_of_a_message_counts_until_it_was_received_three_times(aws, clock):
    queue = aws.queue("tea")
    clock.let_pass(120)
    ages = lambda: published(aws, queue, "ApproximateAgeOfOldestMessage", "Maximum")
    assert 60 <= max(ages(), default=0) <= 120
    for _ in range(3):
        queue.take(VisibilityTimeout=0)
    clock.let_pass(180)
    assert max(ages()) <= 120


COUNTERS = ["NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted", "NumberOfEmptyReceives"]


@source(QUEUE_METRICS, MEASURED_CLOUDWATCH)
@pytest.mark.parametrize("name", COUNTERS)
def test_a_queue_publishes_no_count_for_a_minute_without_such_a_call(aws, queue, clock, name):
    queue.receive()
    queue.send()
    queue.delete(queue.take())
    clock.let_pass(60)
    assert published(aws, queue, name, period=60) == [1]
    clock.let_pass(180)
    assert published(aws, queue, name, period=60) == [1]


@source(QUEUE_METRICS)
@pytest.mark.parametrize("name", [
    "ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
])
def test_a_queue_without_such_messages_publishes_no_value_of_them(aws, queue, clock, name):
    clock.let_pass(120)
    assert published(aws, queue, name, "Maximum") == []
    assert published(aws, queue, "ApproximateNumberOfMessagesVisible", "Maximum") == [0]


@source(sqs_guide("monitoring-using-cloudwatch"))
def test_a_queue_that_nobody_uses_has_no_data_after_six_hours_until_an_action_names_it(aws, queue, clock):
    clock.let_pass(8 * 3_600)
    visible = "ApproximateNumberOfMessagesVisible"
    assert len(published(aws, queue, visible, "SampleCount", 3_600)) <= 7
    before = sum(published(aws, queue, visible, "SampleCount"))
    queue.counts()
    clock.let_pass(120)
    assert before < sum(published(aws, queue, visible, "SampleCount")) <= before + 3


@source(DEAD_LETTER_ALARM, MISSING_DATA)
def test_an_alarm_on_a_queue_that_nobody_uses_sees_no_data(depth_alarm, aws, queue, clock):
    unsure = Alarm(metric_of(aws, queue, "ApproximateNumberOfMessagesVisible"), Statistic="Maximum")
    clock.let_pass(180)
    assert (depth_alarm.state(), unsure.state()) == ("OK", "OK")
    clock.let_pass(7 * 3_600)
    assert (depth_alarm.state(), unsure.state()) == ("OK", "INSUFFICIENT_DATA")


@source(QUEUE_METRICS)
def test_a_fifo_queue_publishes_what_it_did_not_add_and_its_groups_in_flight(aws, fifo, clock):
    for group in ("g", "h"):
        fifo.send(MessageGroupId=group, MessageDeduplicationId="1")
    fifo.receive(most=1, VisibilityTimeout=3_600)
    clock.let_pass(120)
    assert sum(published(aws, fifo, "NumberOfDeduplicatedSentMessages")) == 1
    assert max(published(aws, fifo, "ApproximateNumberOfGroupsWithInflightMessages", "Maximum"), default=0) == 1


@source(DEAD_LETTER_ALARM, QUEUE_METRICS)
def test_what_a_redrive_policy_moves_does_not_count_as_sent(aws, clock):
    queue, dead = aws.pair(most=1)
    queue.send()
    queue.fail()
    queue.receive()
    assert dead.counts() == (1, 0, 0)
    clock.let_pass(120)
    assert sum(published(aws, queue, "NumberOfMessagesSent")) == 1
    assert sum(published(aws, dead, "NumberOfMessagesSent")) == 0
    assert max(published(aws, dead, "ApproximateNumberOfMessagesVisible", "Maximum"), default=0) == 1
