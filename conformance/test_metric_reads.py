import time
import uuid
from datetime import timedelta

import pytest

from aws import refusal, refused
from metrics import DAY, Metric, ago, full, minute, span
from sources import MEASURED_CLOUDWATCH, cloudwatch, source

STATISTICS = cloudwatch("GetMetricStatistics")
DATA = cloudwatch("GetMetricData")
LIST = cloudwatch("ListMetrics")


def read(metric, *queries: dict, period: int = DAY, **more) -> list[dict]:
    asked = {"MetricDataQueries": list(queries), **span(1, period), **more}
    return metric.cloudwatch.get_metric_data(**asked)["MetricDataResults"]


@source(STATISTICS, MEASURED_CLOUDWATCH)
def test_statistics_have_a_label_a_unit_and_what_was_asked_for(metric):
    metric.put(*range(10))
    query = {**metric.itself, **span(), "Period": DAY, "Statistics": ["Average", "Sum", "SampleCount"]}
    answer = metric.cloudwatch.get_metric_statistics(**query)
    [point] = answer["Datapoints"]
    assert answer["Label"] == metric.name
    assert (point["Average"], point["Sum"], point["SampleCount"], point["Unit"]) == (4.5, 45, 10, "None")
    assert not {"Minimum", "Maximum"} & set(point)


@source(STATISTICS)
def test_a_datapoint_is_stamped_with_the_start_of_its_period(metric):
    for back in (3, 2):
        metric.put({"Value": float(back), "Timestamp": minute(back)})
    points = metric.statistics("Sum", period=60)
    assert [point["Sum"] for point in points] == [3, 2]
    assert all(point["Timestamp"].second == 0 for point in points)
    assert (points[1]["Timestamp"] - points[0]["Timestamp"]).total_seconds() == 60


@source(STATISTICS, MEASURED_CLOUDWATCH)
def test_values_of_different_units_are_kept_apart(metric):
    metric.put({"Value": 5.0, "Unit": "Count"}, {"Value": 1.0, "Unit": "Seconds"}, {"Value": 10.0})
    points = {point["Unit"]: point["Average"] for point in metric.statistics("Average")}
    assert points == {"Count": 5, "Seconds": 1, "None": 10}
    assert [point["Average"] for point in metric.statistics("Average", Unit="Seconds")] == [1]


@source(STATISTICS)
def test_percentiles_are_computed_from_single_values(metric):
    metric.put({"Values": [float(value) for value in range(1, 101)]})
    [point] = metric.statistics(ExtendedStatistics=["p50", "p99"])
    assert 48 <= point["ExtendedStatistics"]["p50"] <= 53
    assert 97 <= point["ExtendedStatistics"]["p99"] <= 100


@source(STATISTICS, MEASURED_CLOUDWATCH)
def test_more_than_1440_datapoints_cannot_be_asked_for(metric):
    error = "InvalidParameterCombination: You have requested up to 86400 datapoints, which exceeds the limit of 1440."
    end = full(time.time(), 60)
    for end in (end, end + timedelta(seconds=0.5)):
        refused(error, metric.statistics, "Sum", StartTime=end - timedelta(days=1), EndTime=end, Period=1)


@source(STATISTICS, MEASURED_CLOUDWATCH)
@pytest.mark.parametrize("seconds", [0, 1, 30, 59.5, 59.999])
def test_1440_datapoints_can_be_asked_for_from_wherever_in_a_minute(metric, seconds):
    start = full(time.time(), 60) + timedelta(seconds=seconds - DAY)
    day = {"StartTime": start, "EndTime": start + timedelta(days=1), "Period": 60}
    assert metric.statistics("Sum", **day) == []
    day["EndTime"] += timedelta(seconds=60)
    refused("InvalidParameterCombination: up to 1441 datapoints", metric.statistics, "Sum", **day)


@source(DATA)
def test_data_of_a_day_and_more_is_read_by_the_minute(metric):
    for back in (1, 25 * 60):
        metric.put({"Value": float(back), "Timestamp": minute(back)})
    span = {"StartTime": minute(26 * 60), "EndTime": minute(0)}
    assert read(metric, metric.query(period=60), **span)[0]["Values"] == [1, 25 * 60]


@source(STATISTICS, MEASURED_CLOUDWATCH)
def test_a_start_that_is_not_before_the_end_is_refused(metric):
    error, now = "InvalidParameterValue: The parameter StartTime must be less than the parameter EndTime.", ago(0)
    refused(error, metric.statistics, "Sum", StartTime=now, EndTime=now, Period=60)


@source(STATISTICS, DATA)
def test_dimensions_have_to_be_given_exactly(aws):
    metric = Metric(aws.cloudwatch, Shop="a", Till="1")
    metric.put(1)
    for dimensions in ([], metric.dimensions[:1]):
        metric.dimensions, whole = dimensions, metric.dimensions
        assert metric.statistics("Sum") == []
        assert read(metric, metric.query())[0]["Values"] == []
        metric.dimensions = whole
    assert [point["Sum"] for point in metric.statistics("Sum")] == [1]


@source(DATA, MEASURED_CLOUDWATCH)
@pytest.mark.parametrize(("statistic", "value"), [
    ("Sum", 45), ("Average", 4.5), ("Minimum", 0), ("Maximum", 9), ("SampleCount", 10)])
def test_data_of_a_metric_is_read_by_statistic(metric, statistic, value):
    metric.put(*range(10))
    [result] = read(metric, metric.query(statistic))
    assert (result["Id"], result["StatusCode"], result["Values"]) == ("m", "Complete", [value])
    assert len(result["Timestamps"]) == 1


@source(DATA, MEASURED_CLOUDWATCH)
def test_a_metric_without_data_gives_no_values(metric):
    [result] = read(metric, metric.query())
    assert (result["Values"], result["Timestamps"], result["StatusCode"]) == ([], [], "Complete")


@source(DATA)
def test_data_comes_latest_first_or_the_other_way_round(metric):
    for back in (3, 2, 1):
        metric.put({"Value": float(back), "Timestamp": minute(back)})
    query = metric.query(period=60)
    assert read(metric, query, period=60)[0]["Values"] == [1, 2, 3]
    assert read(metric, query, period=60, ScanBy="TimestampAscending")[0]["Values"] == [3, 2, 1]


@source(DATA, MEASURED_CLOUDWATCH)
def test_several_metrics_are_read_at_once(aws, metric):
    other = Metric(aws.cloudwatch, "Refunds")
    metric.put(5)
    other.put(7)
    results = read(metric, metric.query(), other.query(Id="n"))
    found = [(each["Id"], each["Label"], each["Values"]) for each in results]
    assert found == [("m", "Orders", [5]), ("n", "Refunds", [7])]


@source(DATA, MEASURED_CLOUDWATCH)
def test_a_label_names_the_metric_and_what_differs_between_queries_of_it(metric):
    metric.put(5)
    results = read(metric, metric.query("Sum"), metric.query("Minimum", Id="n"))
    assert [each["Label"] for each in results] == ["Orders Sum", "Orders Minimum"]
    assert read(metric, metric.query(Label="sold"))[0]["Label"] == "sold"


test_two_queries_with_one_id_are_refused = refusal(
    "", "metric", lambda metric: read(metric, metric.query(), metric.query()), DATA)


@source(LIST)
def test_metrics_are_listed_by_namespace_name_and_dimensions(aws):
    metric = Metric(aws.cloudwatch, Shop="a")
    shop = metric.dimensions
    for metric.name, metric.dimensions in [("Orders", shop), ("Refunds", shop), ("Refunds", [])]:
        metric.put(1)

    def found(**filters) -> list[tuple[str, bool]]:
        listed = aws.cloudwatch.list_metrics(Namespace=metric.namespace, **filters)["Metrics"]
        return sorted((each["MetricName"], bool(each["Dimensions"])) for each in listed)

    assert found() == [("Orders", True), ("Refunds", False), ("Refunds", True)]
    assert found(MetricName="Refunds") == [("Refunds", False), ("Refunds", True)]
    assert found(Dimensions=shop) == [("Orders", True), ("Refunds", True)]
    assert found(Dimensions=[{"Name": "Shop"}]) == [("Orders", True), ("Refunds", True)]
    assert found(MetricName="Nothing") == []


@source(LIST)
def test_a_namespace_without_metrics_has_none(aws):
    assert aws.cloudwatch.list_metrics(Namespace=f"Shop/{uuid.uuid4().hex}")["Metrics"] == []
