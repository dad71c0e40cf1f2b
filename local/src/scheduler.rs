//! EventBridge Scheduler, as far as it is about schedules that call Lambda once, as a function of the schedules, a request and
//! the time.
//! <https://docs.aws.amazon.com/scheduler/latest/APIReference/Welcome.html>

pub(crate) mod api;
mod schedules;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Request;
use serde_json::{Map, Value};

/// How long Scheduler waits until it makes a call again that its target refused.
const AGAIN: Duration = Duration::from_secs(60);

/// The schedules of one account in one region.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    schedules: BTreeMap<String, Schedule>,
}

#[derive(Debug)]
struct Schedule {
    /// As it was given.
    definition: Map<String, Value>,
    at: SystemTime,
    due: SystemTime,
    /// The mapping, and what of it changes.
    mapping: String,
    change: Bytes,
    /// From `at` on.
    given_up_after: Duration,
}

impl Scheduler {
    /// When the next schedule is due.
    pub(crate) fn next_due(&self) -> Option<SystemTime> {
        self.schedules.values().map(|schedule| schedule.due).min()
    }

    /// The first schedule that is due by now, with its request to Lambda.
    pub(crate) fn due(&self, now: SystemTime) -> Option<(String, Request<Bytes>)> {
        let due = self.schedules.iter().filter(|(_, schedule)| schedule.due <= now);
        let (name, schedule) = due.min_by_key(|(_, schedule)| schedule.due)?;
        let request = Request::put(format!("/2015-03-31/event-source-mappings/{}", schedule.mapping));
        let request = request.body(schedule.change.clone()).expect("an id is a part of a path");
        Some((name.clone(), request))
    }

    /// A schedule that has made its call deletes itself. A refused call is made again for a while.
    pub(crate) fn called(&mut self, name: &str, is_done: bool) {
        let Some(schedule) = self.schedules.get_mut(name) else { return };
        schedule.due += AGAIN;
        if is_done || schedule.due > schedule.at + schedule.given_up_after {
            self.schedules.remove(name);
        }
    }
}
