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
def test_the_end_is_left_out_and_the_start_goes_back_to_its_minute(metric):
    for back in (3, 2):
        metric.put({"Value": float(back), "Timestamp": minute(back)})

    def sums(start, end) -> list[float]:
        return [point["Sum"] for point in metric.statistics("Sum", StartTime=start, EndTime=end, Period=60)]

    half, second = timedelta(seconds=30), timedelta(seconds=1)
    assert sums(minute(3) - half, minute(2) - half) == [3]
    assert sums(minute(2), minute(2) + second) == [2]


@source(cloudwatch("MetricDatum"))
@pytest.mark.parametrize(("resolution", "values"), [(1, [1, 2]), (60, [])])
def test_seconds_are_told_apart_only_at_high_resolution(metric, resolution, values):
    start = minute(2)
    for value in (1, 2):
        at = start + timedelta(seconds=5 * (value - 1))
        metric.put({"Value": float(value), "Timestamp": at, "StorageResolution": resolution})
    ten = {"StartTime": start, "EndTime": start + timedelta(seconds=10)}
    assert [point["Sum"] for point in metric.statistics("Sum", Period=5, **ten)] == values
    assert metric.total()["Sum"] == 3


test_statistics_that_cannot_be_read_are_refused = refusal(
    "InvalidParameterValue|InvalidParameterCombination|MissingParameter",
    "metric", lambda metric, bad: metric.statistics("Sum", **bad), STATISTICS,
    cases={"Period 7": {"Period": 7}, "a percentile without being extended": {"Statistics": ["p90"]},
           "Median": {"ExtendedStatistics": ["Median"]}, "no statistic": {"Statistics": []},
           "no namespace": {"Namespace": None}})


@source(STATISTICS)
def test_there_are_no_percentiles_of_negative_values(metric):
    metric.put(-1, 5)
    assert metric.statistics(ExtendedStatistics=["p50"]) == []


@source(STATISTICS)
def test_a_statistic_set_has_percentiles_only_if_all_its_values_are_the_same(metric):
    metric.put({"StatisticValues": {"SampleCount": 3.0, "Sum": 6.0, "Minimum": 2.0, "Maximum": 2.0}})
    assert metric.statistics(ExtendedStatistics=["p50"])[0]["ExtendedStatistics"] == {"p50": 2}
    metric.put({"StatisticValues": {"SampleCount": 2.0, "Sum": 3.0, "Minimum": 1.0, "Maximum": 2.0}})
    assert metric.statistics(ExtendedStatistics=["p50"]) == []


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
    refused("ValidationError|InvalidParameterValue", read, metric, metric.query(), StartTime=now, EndTime=now)


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
    for queries, labels in [
        ([metric.query("Sum"), metric.query("Minimum", Id="n")], ["Orders Sum", "Orders Minimum"]),
        ([metric.query(), metric.query(period=3_600, Id="n")], ["Orders 86400", "Orders 3600"]),
        ([metric.query(Label="sold")], ["sold"]),
    ]:
        assert [each["Label"] for each in read(metric, *queries)] == labels


@source(DATA, MEASURED_CLOUDWATCH)
def test_values_of_one_unit_are_read_and_of_several_it_is_said_so(metric):
    metric.put({"Value": 60_000.0, "Unit": "Milliseconds"}, {"Value": 60.0, "Unit": "Seconds"})
    [result] = read(metric, metric.query())
    assert ([message["Code"] for message in result["Messages"]], len(result["Values"])) == (["MultipleUnits"], 1)
    query = metric.query()
    query["MetricStat"]["Unit"] = "Seconds"
    [result] = read(metric, query)
    assert (result.get("Messages", []), result["Values"]) == ([], [60])


@source(DATA)
def test_what_is_not_to_be_returned_is_left_out(metric):
    results = read(metric, metric.query(), metric.query(Id="n", ReturnData=False))
    assert [each["Id"] for each in results] == ["m"]


@source(DATA)
@pytest.mark.parametrize("most", [1, 2, 4, 6])
def test_pages_hold_each_value_once(metric, most):
    for back in (3, 2, 1):
        metric.put({"Value": float(back), "Timestamp": minute(back)})
    queries = [metric.query(period=60), metric.query("Maximum", period=60, Id="n")]
    asked, pages = {"MetricDataQueries": queries, "MaxDatapoints": most, **span(1, 60)}, []
    while not pages or "NextToken" in asked and len(pages) < 10:
        answer = metric.cloudwatch.get_metric_data(**asked)
        pages.append([value for each in answer["MetricDataResults"] for value in each["Values"]])
        asked = {**asked, "NextToken": answer["NextToken"]} if "NextToken" in answer else {}
    assert sum(pages, []) == [1, 2, 3, 1, 2, 3]
    assert [len(page) for page in pages[:-1]] == [most] * (len(pages) - 1)
    assert len(pages[-1]) <= most


test_a_query_that_breaks_the_rules_is_refused = refusal(
    "ValidationError|InvalidParameterValue",
    "metric", lambda metric, queries: read(metric, *queries(metric)), DATA,
    cases={"two with one id": lambda metric: [metric.query(), metric.query()], "none": lambda metric: [],
           "501": lambda metric: [metric.query(Id=f"m{each}") for each in range(501)],
           "an id in upper case": lambda metric: [metric.query(Id="M1")], "no metric": lambda metric: [{"Id": "m"}],
           "Median": lambda metric: [metric.query("Median")], "Period 7": lambda metric: [metric.query(period=7)]})


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


@source(LIST)
def test_500_metrics_are_a_page(metric):
    metric.put(*({"MetricName": f"m{each}", "Value": 1.0} for each in range(501)))
    ask = {"Namespace": metric.namespace}
    first = metric.cloudwatch.list_metrics(**ask)
    rest = metric.cloudwatch.list_metrics(**ask, NextToken=first["NextToken"])
    assert (len(first["Metrics"]), len(rest["Metrics"]), "NextToken" in rest) == (500, 1, False)


@source(LIST)
def test_metrics_of_the_last_three_hours_can_be_asked_for(metric):
    recent = lambda span: metric.cloudwatch.list_metrics(Namespace=metric.namespace, RecentlyActive=span)["Metrics"]
    metric.put({"Value": 1.0, "Timestamp": ago(5 * 60)})
    assert recent("PT3H") == []
    metric.put(1)
    assert recent("PT3H") == [metric.itself]
    refused("ValidationError|InvalidParameterValue", recent, "PT1H")
