use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_sdk::metrics::data::{AggregatedMetrics, Metric, MetricData};
use redrive::{Failure, Text};
use tokio::time::sleep;

use crate::support::{Watched, attributes};

/// Returns each series of a metric by its attributes, with the number of values and their sum.
fn series(metric: &Metric) -> BTreeMap<String, (u64, f64)> {
    let name = |it: BTreeMap<String, String>| {
        it.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    match metric.data() {
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
            let points = histogram.data_points();
            points.map(|it| (name(attributes(it.attributes())), (it.count(), it.sum()))).collect()
        }
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            let points = sum.data_points();
            points.map(|it| (name(attributes(it.attributes())), (it.value(), 0.0))).collect()
        }
        data => panic!("{data:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn messages_handlers_and_calls_to_sqs_are_counted_and_timed() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    watched.aws.latency(Duration::from_millis(5));
    for body in ["ok", "ok", "fail"] {
        queue.send(body);
    }
    let consumer = watched.consumer(&queue, |text: Text| async move {
        sleep(Duration::from_millis(30)).await;
        if text.0 == "ok" { Ok(()) } else { Err(Failure::reject("no")) }
    });
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    let measured = watched.measured();
    let metrics: BTreeMap<_, _> = measured
        .scope_metrics()
        .flat_map(|scope| scope.metrics())
        .map(|metric| ((metric.name(), metric.unit()), series(metric)))
        .collect();
    let process =
        "messaging.destination.name=orders messaging.operation.name=process messaging.system=aws_sqs";
    let failed = format!("error.type=rejected {process}");
    let settle = "messaging.destination.name=orders messaging.operation.name=settle \
                  messaging.operation.type=settle messaging.system=aws_sqs";
    let rounded = |(count, sum): (u64, f64)| (count, (sum * 1e6).round() as u64);
    let expected = [
        (
            ("messaging.client.consumed.messages", "{message}"),
            vec![(failed.as_str(), (1, 0)), (process, (2, 0))],
        ),
        (("messaging.client.operation.duration", "s"), vec![(settle, (1, 5_000))]),
        (("messaging.process.duration", "s"), vec![(failed.as_str(), (1, 30_000)), (process, (2, 60_000))]),
    ];
    for (metric, expected) in expected {
        let found = &metrics[&metric];
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), rounded(*value))).collect();
        assert_eq!(found, expected, "{metric:?}");
    }
    assert_eq!(metrics.len(), 3);
}
