//! Queries of CloudWatch about a queue. Pure.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html>

use std::time::Duration;

use aws_sdk_cloudwatch::types::{Dimension, Metric, MetricDataQuery, MetricStat};

use crate::find::Queue;

pub(crate) const OLDEST: &str = "ApproximateAgeOfOldestMessage";
pub(crate) const VISIBLE: &str = "ApproximateNumberOfMessagesVisible";

/// Greatest age of a current value. SQS publishes each minute, some minutes late.
pub(crate) const RECENT: Duration = Duration::from_secs(5 * 60);

pub(crate) fn maximum_each_minute(id: &str, metric: &str, queue: &Queue) -> MetricDataQuery {
    maximum_each(60, id, metric, queue)
}

/// Returns a query for the largest value in each period.
pub(crate) fn maximum_each(seconds: i32, id: &str, metric: &str, queue: &Queue) -> MetricDataQuery {
    let dimension = Dimension::builder().name("QueueName").value(queue.name()).build();
    let metric = Metric::builder().namespace("AWS/SQS").metric_name(metric).dimensions(dimension).build();
    let stat = MetricStat::builder().metric(metric).period(seconds).stat("Maximum").build();
    MetricDataQuery::builder().id(id).metric_stat(stat).build()
}
