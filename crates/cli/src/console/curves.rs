//! Reads the last day of a queue: the number of letters, the age of the oldest, and the deployments of its functions.

use std::time::{Duration, SystemTime};

use aws_sdk_cloudwatch::primitives::DateTime;
use futures_util::{StreamExt, future, stream};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::aws::{Aws, DescribeError};
use crate::find::{Of, Queue, function_name, mappings};
use crate::fleet::DeadLetterQueue;
use crate::sqs::{OLDEST, VISIBLE, maximum_each};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Seconds of a period. Two series of a day, with 288 values each, fit into a page.
const PERIOD: i32 = 300;
/// Pages of a function's versions. The latest ones are shown.
const PAGES: usize = 4;
/// Number of queues that are read at the same time, and the timeout of each.
const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn read(aws: &Aws, queue: &Queue, sources: &[String]) -> Value {
    let (curves, deployments) = tokio::join!(curves(aws, queue), deployments(aws, sources));
    let (mut told, mut unknown) = (json!({}), vec![]);
    match curves {
        Ok([visible, oldest]) => (told["visible"], told["oldest"]) = (json!(visible), json!(oldest)),
        Err(error) => unknown.push(format!("{error:#}")),
    }
    match deployments {
        Ok(deployments) => told["deployments"] = json!(deployments),
        Err(error) => unknown.push(format!("{error:#}")),
    }
    told["unknown"] = json!(unknown);
    told
}

/// Values with their age in seconds, the oldest first.
type Curve = Vec<(u64, f64)>;

async fn curves(aws: &Aws, queue: &Queue) -> anyhow::Result<[Curve; 2]> {
    let now = SystemTime::now();
    let queries = [("visible", VISIBLE), ("oldest", OLDEST)];
    let queries = queries.map(|(id, metric)| maximum_each(PERIOD, id, metric, queue));
    let read = aws
        .cloudwatch()
        .get_metric_data()
        .start_time(DateTime::from(now - DAY))
        .end_time(DateTime::from(now))
        .set_metric_data_queries(Some(queries.into()))
        .send()
        .await;
    let read = read.describe_error("read the metrics", "cloudwatch:GetMetricData")?;
    let mut curves = [vec![], vec![]];
    for series in read.metric_data_results() {
        let points = series.timestamps().iter().zip(series.values()).filter_map(|(time, value)| {
            let at = SystemTime::try_from(*time).ok()?;
            Some((now.duration_since(at).unwrap_or_default().as_secs(), *value))
        });
        let curve = &mut curves[usize::from(series.id() == Some("oldest"))];
        curve.extend(points);
        curve.sort_by(|(one, _), (other, _)| other.cmp(one));
    }
    Ok(curves)
}

/// Returns the versions of the functions that each queue's sources feed, by the queues' ARNs. Leaves out queues that cannot be
/// read in time: their own view waits longer, and shows the reason.
pub(super) async fn of_queues(queues: Vec<(Aws, DeadLetterQueue)>) -> Value {
    let read = stream::iter(&queues).map(|(aws, queue)| async {
        let read = timeout(PATIENCE, deployments(aws, &queue.sources)).await;
        Some((queue.arn.clone(), json!(read.ok()?.ok()?)))
    });
    Value::Object(read.buffered(AT_ONCE).filter_map(future::ready).collect().await)
}

/// Returns the versions of the functions that the queue's sources feed.
async fn deployments(aws: &Aws, sources: &[String]) -> anyhow::Result<Vec<Value>> {
    let lambda = aws.lambda();
    let mut deployments = vec![];
    for source in sources {
        let mappings = mappings(aws, Of::Queue(source)).await?;
        for function in mappings.iter().filter_map(|mapping| mapping.function_arn()) {
            let name = function_name(function);
            let mut pages = lambda.list_versions_by_function().function_name(name).into_paginator().send();
            for _ in 0..PAGES {
                let Some(page) = pages.next().await else { break };
                let action = "lambda:ListVersionsByFunction";
                let page = page.describe_error(&format!("list the versions of {name}"), action)?;
                deployments.extend(page.versions().iter().map(|version| {
                    json!({ "function": name, "version": version.version(), "at": version.last_modified() })
                }));
            }
        }
    }
    Ok(deployments)
}
