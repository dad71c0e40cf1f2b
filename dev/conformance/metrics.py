"""Metrics for the checks: writes values and reads statistics."""

import time
import uuid
from datetime import UTC, datetime, timedelta

DAY = 86_400
STATISTICS = ["SampleCount", "Sum", "Minimum", "Maximum", "Average"]


class Metric:
    """A metric in its own namespace."""

    def __init__(self, cloudwatch, name: str = "Orders", **dimensions: str):
        self.cloudwatch, self.name, self.namespace = cloudwatch, name, f"Shop/{uuid.uuid4().hex[:12]}"
        self.dimensions = [{"Name": key, "Value": value} for key, value in dimensions.items()]

    @property
    def itself(self) -> dict:
        return {"Namespace": self.namespace, "MetricName": self.name, "Dimensions": self.dimensions}

    def put(self, *data: dict | float) -> None:
        data = [each if isinstance(each, dict) else {"Value": float(each)} for each in data]
        data = [{"MetricName": self.name, "Dimensions": self.dimensions, **each} for each in data]
        self.cloudwatch.put_metric_data(Namespace=self.namespace, MetricData=data)

    def statistics(self, *names: str, hours: int = 1, period: int = DAY, **more) -> list[dict]:
        """Returns the datapoints of the last hours, by default a single one for all of them."""
        names = [] if "ExtendedStatistics" in more else names or STATISTICS
        chosen = {"Statistics": list(names)} if names else {}
        query = {**self.itself, **span(hours, period), "Period": period, **chosen, **more}
        return sorted(self.cloudwatch.get_metric_statistics(**query)["Datapoints"], key=lambda each: each["Timestamp"])

    def total(self) -> dict:
        """Returns the five statistics of all values together."""
        points = self.statistics()
        assert points, "there is no datapoint"
        count, total = sum(each["SampleCount"] for each in points), sum(each["Sum"] for each in points)
        lowest, highest = min(each["Minimum"] for each in points), max(each["Maximum"] for each in points)
        return {"SampleCount": count, "Sum": total, "Minimum": lowest, "Maximum": highest}

    def query(self, statistic: str = "Sum", period: int = DAY, **more) -> dict:
        """Returns an entry of GetMetricData."""
        stat = {"Metric": self.itself, "Period": period, "Stat": statistic}
        return {"Id": "m", "MetricStat": stat, **more}


def metric_of(aws, queue, name: str) -> Metric:
    metric = Metric(aws.cloudwatch, name, QueueName=queue.name)
    metric.namespace = "AWS/SQS"
    return metric


def published(aws, queue, name: str, statistic: str = "Sum", period: int = DAY) -> list[float]:
    """Returns the values that SQS published of a queue within a day, the latest first."""
    query = [metric_of(aws, queue, name).query(statistic, period)]
    [result] = aws.cloudwatch.get_metric_data(MetricDataQueries=query, **span(24))["MetricDataResults"]
    return result["Values"]


def span(hours: int = 1, period: int = DAY) -> dict:
    """Returns the last hours, from and to full hours or days, so that the start of periods does not matter."""
    unit = max(period, 3_600)
    start, end = time.time() - hours * 3_600, time.time() + unit
    return {"StartTime": full(start, unit), "EndTime": full(end, unit)}


def full(moment: float, unit: int) -> datetime:
    return datetime.fromtimestamp(moment // unit * unit, UTC)


def ago(minutes: float) -> datetime:
    return datetime.now(UTC) - timedelta(minutes=minutes)


def minute(ago: int = 0) -> datetime:
    """Returns the middle of a minute, so that a value stays in it even if the clock continues."""
    return datetime.fromtimestamp((time.time() // 60 - ago) * 60 + 30, UTC)
