from datetime import timedelta

import pytest

from aws import refusal, refused
from metrics import Metric, ago
from sources import MEASURED_CLOUDWATCH, MEASURED_CLOUDWATCH_TESTS, cloudwatch, source

PUT = cloudwatch("PutMetricData")
DATUM = cloudwatch("MetricDatum")
BAD = "InvalidParameterValue|ValidationError"
SET = {"SampleCount": 3.0, "Sum": 20.0, "Minimum": 0.5, "Maximum": 12.0}
UNLIKE_LENGTHS = (
    "InvalidParameterValue: "
    "The parameters MetricData.member.1.Values and MetricData.member.1.Counts must be of the same size."
)


@source(PUT)
def test_single_values_are_added_up(metric):
    metric.put(1, 2.5)
    metric.put(-1)
    assert metric.total() == {"SampleCount": 3, "Sum": 2.5, "Minimum": -1, "Maximum": 2.5}


@source(DATUM)
def test_a_statistic_set_counts_as_its_values(metric):
    metric.put({"StatisticValues": SET})
    metric.put(30)
    assert metric.total() == {"SampleCount": 4, "Sum": 50, "Minimum": 0.5, "Maximum": 30}


@source(DATUM, MEASURED_CLOUDWATCH)
def test_values_count_as_often_as_counts_say(metric):
    metric.put({"Values": [1.0, 6.0, 10.0], "Counts": [2.0, 0.5, 1.0]})
    assert metric.total() == {"SampleCount": 3.5, "Sum": 15, "Minimum": 1, "Maximum": 10}


@source(DATUM)
def test_values_without_counts_count_once_each(metric):
    metric.put({"Values": [1.0, 2.0, 3.0]})
    assert metric.total()["SampleCount"] == 3


@source(PUT)
def test_a_timestamp_says_when_a_value_was(metric):
    metric.put({"Value": 1.0, "Timestamp": ago(150)}, {"Value": 2.0, "Timestamp": ago(5)})
    assert [each["Sum"] for each in metric.statistics("Sum", hours=4, period=3_600)] == [1, 2]
    assert sum(each["Sum"] for each in metric.statistics("Sum", hours=1, period=60)) == 2


@source(PUT)
def test_a_request_takes_1000_values_and_no_more(metric):
    metric.put(*[1] * 1_000)
    refused(BAD, metric.put, *[1] * 1_001)
    assert metric.total()["SampleCount"] == 1_000


@source(DATUM)
def test_a_value_list_takes_150_values_and_no_more(metric):
    metric.put({"Values": [float(each) for each in range(150)]})
    refused(BAD, metric.put, {"Values": [float(each) for each in range(151)]})


@source(DATUM)
def test_a_metric_has_30_dimensions_and_no_more(aws):
    names = [f"d{each}" for each in range(31)]
    Metric(aws.cloudwatch, **dict.fromkeys(names[:30], "a")).put(1)
    refused(BAD, Metric(aws.cloudwatch, **dict.fromkeys(names, "a")).put, 1)


@source(PUT)
@pytest.mark.parametrize("namespace", ["AWS/Shop", "AWS/SQS", ":Shop", "n" * 256], ids=lambda text: text[:8])
def test_a_namespace_of_aws_or_one_that_breaks_the_rules_is_refused(metric, namespace):
    metric.namespace = namespace
    refused(BAD, metric.put, 1)


test_a_value_that_is_no_number_or_beyond_2_to_the_360_is_refused = refusal(
    BAD, "metric", Metric.put, PUT, cases=[float("nan"), float("inf"), -float("inf"), 2.0**361, -(2.0**361)])


@source(PUT)
def test_a_value_of_2_to_the_360_is_the_largest(metric):
    metric.put(2.0**360, -(2.0**360))
    assert metric.total()["Maximum"] == 2.0**360


test_a_timestamp_more_than_two_weeks_ago_or_two_hours_ahead_is_refused = refusal(
    BAD, "metric", lambda metric, minutes: metric.put({"Value": 1.0, "Timestamp": ago(minutes)}), PUT,
    cases={"two weeks ago": 14 * 24 * 60 + 10, "in two hours": -125})


@source(PUT)
def test_a_timestamp_almost_two_weeks_ago_is_taken(metric):
    metric.put({"Value": 1.0, "Timestamp": ago(0) - timedelta(days=13, hours=23)})
    assert [each["Sum"] for each in metric.statistics("Sum", hours=14 * 24)] == [1]


test_two_forms_of_a_value_exclude_each_other = refusal(
    "InvalidParameterCombination: are mutually exclusive and you have specified both.",
    "metric", lambda metric, other: metric.put({"Value": 1.0, **other}), MEASURED_CLOUDWATCH,
    cases={"Values": {"Values": [1.0]}, "StatisticValues": {"StatisticValues": SET}})


@source(MEASURED_CLOUDWATCH_TESTS)
def test_a_list_of_values_and_a_statistic_set_may_be_given_together(metric):
    metric.put({"Values": [1.0, 10.0], "StatisticValues": SET})
    assert metric.statistics() != []


test_values_and_counts_have_the_same_length = refusal(
    UNLIKE_LENGTHS, "metric", lambda metric: metric.put({"Values": [1.0, 2.0], "Counts": [1.0]}), MEASURED_CLOUDWATCH)
test_a_value_with_a_field_that_breaks_the_rules_is_refused = refusal(
    BAD, "metric", lambda metric, bad: metric.put({"Value": 1.0, **bad}), DATUM,
    cases={"StorageResolution": {"StorageResolution": 2}, "Unit": {"Unit": "Cups"},
           "MetricName": {"MetricName": "n" * 256}, "colon": {"Dimensions": [{"Name": ":d", "Value": "v"}]},
           "beyond ASCII": {"Dimensions": [{"Name": "d", "Value": "früh"}]}})
test_values_that_cannot_be_are_refused = refusal(
    f"{BAD}|MissingParameter", "metric", Metric.put, DATUM,
    cases={"Counts 0": {"Values": [1.0], "Counts": [0.0]},
           "Minimum above Maximum": {"StatisticValues": {**SET, "Minimum": 13.0}},
           "no Maximum": {"StatisticValues": {name: SET[name] for name in SET if name != "Maximum"}}})


@source(PUT)
def test_a_request_or_a_value_that_lacks_something_is_refused(metric):
    refused("MissingParameter", metric.put, {"MetricName": None, "Value": 1.0})
    refused("MissingParameter", metric.put, {"Value": 1.0, "Dimensions": [{"Name": "d", "Value": ""}]})
    refused("MissingParameter", metric.put, {})
    refused("MissingParameter", metric.put)
    metric.namespace = ""
    refused("MissingParameter", metric.put, 1)


@source(PUT)
def test_values_of_an_entity_are_values_like_others(metric):
    data = [{"Entity": {}, "MetricData": [{"MetricName": metric.name, "Value": 100.0}]}]
    metric.cloudwatch.put_metric_data(Namespace=metric.namespace, EntityMetricData=data)
    assert metric.total()["Sum"] == 100


@source(PUT)
def test_one_bad_value_refuses_the_whole_request(metric):
    refused(BAD, metric.put, 1, float("nan"), 2)
    assert metric.statistics() == []
