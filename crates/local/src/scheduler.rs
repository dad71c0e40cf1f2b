//! EventBridge Scheduler's one-time schedules that send a message, as plain values.
//! <https://docs.aws.amazon.com/scheduler/latest/UserGuide/what-is-scheduler.html>

pub(crate) mod api;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Request, header};
use serde_json::Value;

/// The schedules of one account in one region, in its default group.
#[derive(Debug)]
pub(crate) struct Scheduler {
    region: String,
    account: String,
    /// Schedules by name.
    schedules: BTreeMap<String, Schedule>,
}

#[derive(Debug)]
struct Schedule {
    /// The input of its creation.
    input: Value,
    created: SystemTime,
    due: SystemTime,
    is_done: bool,
}

impl Scheduler {
    pub(crate) fn new(region: &str, account: &str) -> Self {
        let (region, account) = (region.to_owned(), account.to_owned());
        Self { region, account, schedules: BTreeMap::new() }
    }

    /// Returns the time at which the next schedule is due.
    pub(crate) fn next(&self) -> Option<SystemTime> {
        self.schedules.values().filter(|schedule| !schedule.is_done).map(|schedule| schedule.due).min()
    }

    /// Returns true if a schedule will send to this queue.
    pub(crate) fn sends_to(&self, queue: &str) -> bool {
        let input = |schedule: &Schedule| {
            let input = schedule.input["Target"]["Input"].as_str().unwrap_or_default();
            serde_json::from_str::<Value>(input).unwrap_or_default()
        };
        self.schedules.values().filter(|schedule| !schedule.is_done).any(|schedule| {
            input(schedule)["QueueUrl"].as_str().is_some_and(|url| redrive_sqs::queue_name(url) == queue)
        })
    }

    /// Takes the first schedule that is due. Returns its time, and its call to SQS.
    pub(crate) fn take_due(&mut self, now: SystemTime) -> Option<(SystemTime, Request<Bytes>)> {
        let due = self.next().filter(|due| *due <= now)?;
        let is_next = |(_, schedule): &(&String, &mut Schedule)| !schedule.is_done && schedule.due == due;
        let (name, schedule) = self.schedules.iter_mut().find(is_next)?;
        schedule.is_done = true;
        let request = send_message(&schedule.input["Target"]["Input"]);
        if schedule.input["ActionAfterCompletion"] == "DELETE" {
            let name = name.clone();
            self.schedules.remove(&name);
        }
        Some((due, request))
    }
}

/// Returns the call of the universal target `sqs:sendMessage`, whose input is that of the operation.
/// <https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html>
fn send_message(input: &Value) -> Request<Bytes> {
    let request = Request::post("/")
        .header(header::CONTENT_TYPE, "application/x-amz-json-1.0")
        .header("x-amz-target", "AmazonSQS.SendMessage");
    let input = input.as_str().unwrap_or_default().to_owned();
    request.body(input.into()).expect("the headers are valid")
}
