//! The worker of `redrive verify`: the real consumer, whose handler writes down each delivery.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use redrive::hook::Hook;
use redrive::{
    Backoff, BoxError, Consumer, Consumers, Failure, FromMessage, MessageOutcome, MessageReport, Record,
};
use serde::{Deserialize, Serialize};

use super::history::{History, StepKind};
use super::plan::{DELAY, Job, NEXT_DELAY, Planned, QUICK, SLOW, VISIBILITY};
use crate::aws::{Aws, Place};
use crate::problem::{self, OrProblem, Problem};
use crate::wait::wait;

/// The message attribute with the number of the message.
pub(super) const ATTRIBUTE: &str = "number";

/// The variable with the worker's orders.
pub(super) const VARIABLE: &str = "REDRIVE_VERIFY_WORKER";

/// Wait time of a receive.
const POLL: Duration = Duration::from_secs(20);

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) history: PathBuf,
    pub(super) queue_urls: Vec<String>,
    pub(super) region: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) endpoint_url: Option<String>,
}

/// Works, and returns the exit code, if this process was started as a worker.
pub(crate) fn worker() -> Option<ExitCode> {
    let orders = std::env::var(VARIABLE).ok()?;
    end_with_parent();
    let worked = serde_json::from_str(&orders).with_context(|| format!("invalid {VARIABLE}")).or_input();
    Some(problem::exit(worked.and_then(|orders: Orders| wait(work(orders)))))
}

/// Ends the process when its standard input ends, because the command was killed.
fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
}

async fn work(orders: Orders) -> Result<(), Problem> {
    let Orders { history, queue_urls, region, profile, endpoint_url } = orders;
    let place = Place { region, profile, endpoint_url, ..Place::default() };
    let aws = Aws::connect(&place).await.or_input()?.polling(POLL);
    let history = Arc::new(History::append(&history).context("could not write the history").or_failed()?);
    let mut consumers = Consumers::new();
    for url in queue_urls {
        let of_handler = Arc::clone(&history);
        let consumer = Consumer::new(move |delivery| handle(Arc::clone(&of_handler), delivery))
            .sqs(aws.sqs())
            .metrics(redrive::Metrics::Off)
            .visibility_timeout(VISIBILITY)
            .backoff(Backoff::steps([DELAY, NEXT_DELAY]).context("a constant").or_failed()?)
            .hook(Settled(Arc::clone(&history)));
        consumers = consumers.add(url, consumer);
    }
    consumers.work().await.context("the worker failed").or_failed()
}

/// A delivery, with whatever SQS made of the message.
struct Delivery {
    id: String,
    attempt: u32,
    body: String,
    attribute: Option<String>,
    group: Option<String>,
}

impl FromMessage for Delivery {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        let attribute = record.attributes().get(ATTRIBUTE).and_then(|it| it.as_str().map(str::to_owned));
        let (id, body) = (record.id().to_owned(), record.body().to_owned());
        let group = record.group().map(str::to_owned);
        Ok(Self { id, attempt: record.attempt(), body, attribute, group })
    }
}

async fn handle(history: Arc<History>, delivery: Delivery) -> Result<(), Failure> {
    let Delivery { id, attempt, body, attribute, group } = delivery;
    let job = serde_json::from_str(&body).map_or(Job::Done, |planned: Planned| planned.job);
    history.write(&id, attempt, StepKind::Began { body, attribute, group })?;
    tokio::time::sleep(if job == Job::Slow { SLOW } else { QUICK }).await;
    let result = match job {
        Job::Done | Job::Slow => Ok(()),
        Job::Retried if attempt > 1 => Ok(()),
        Job::Retried | Job::Failed => Err(Failure::retry("a failure of the plan")),
        Job::Rejected => Err(Failure::reject("a rejection of the plan")),
    };
    history.write(&id, attempt, StepKind::Ended { succeeds: result.is_ok() })?;
    result
}

/// Writes down outcomes that SQS has confirmed.
struct Settled(Arc<History>);

impl Hook for Settled {
    fn settled(&self, message: &MessageReport) {
        if message.confirmed || message.outcome == MessageOutcome::Succeeded {
            let outcome = message.outcome.as_str().to_owned();
            // Without it, the message counts as one whose outcome SQS has not confirmed.
            let _ = self.0.write(&message.id, message.attempt, StepKind::Settled { outcome });
        }
    }
}
