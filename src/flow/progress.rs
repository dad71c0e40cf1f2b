//! How far a batch has come.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use tracing::warn;

use super::Invocation;
use crate::batch::decide::{Case, Policy, decide_lane};
use crate::batch::settle::Letter;
use crate::batch::work::Worked;
use crate::batch::{Action, Outcome, Settled};
use crate::dead_letter::DeadLetter;
use crate::overrides::Overrides;
use crate::record::Record;

/// The end of the invocation that no call to AWS may reach into: it belongs to the response.
const FOR_THE_RESPONSE: Duration = Duration::from_millis(100);

/// What is known of each record by now, and what follows from it.
pub(super) struct Progress<'a> {
    pub(super) records: &'a [Record<'a>],
    pub(super) settled: Vec<Settled>,
    overrides: HashMap<usize, Overrides>,
    pub(super) policy: Policy<'a>,
    pub(super) invocation: &'a Invocation<'a>,
    pub(super) settle_until: Instant,
}

impl<'a> Progress<'a> {
    pub(super) fn new(records: &'a [Record<'a>], policy: Policy<'a>, invocation: &'a Invocation<'a>) -> Self {
        let untouched =
            || Settled { outcome: Outcome::NotStarted, action: Action::Leave, confirmed: false, ran: None };
        Self {
            records,
            settled: records.iter().map(|_| untouched()).collect(),
            overrides: HashMap::new(),
            policy,
            invocation,
            settle_until: invocation.deadline.checked_sub(FOR_THE_RESPONSE).unwrap_or(invocation.deadline),
        }
    }

    /// A call to SQS leaves a fifth of what is left to the metrics, which matter most when SQS hangs.
    pub(super) fn sqs_until(&self) -> Instant {
        let now = Instant::now();
        now + self.settle_until.saturating_duration_since(now).mul_f64(0.8)
    }

    pub(super) fn note(&mut self, worked: Vec<Worked>) {
        for (index, outcome, ran) in worked {
            self.settled[index].outcome = outcome;
            self.settled[index].ran = ran;
        }
    }

    pub(super) fn something_finished(&self) -> bool {
        self.settled.iter().any(|settled| settled.outcome.lets_the_lane_go_on())
    }

    pub(super) fn never_ran(&self, index: usize) -> bool {
        matches!(self.settled[index].outcome, Outcome::NotStarted)
    }

    /// Decides on a lane; hands back the part of it that begins with the message at which it stopped, if it did.
    pub(super) fn decide(
        &mut self,
        order: &[usize],
        lane: Range<usize>,
        something_finished: bool,
    ) -> Option<Range<usize>> {
        let is_done = |&index: &usize| matches!(self.settled[index].outcome, Outcome::Done);
        if order[lane.clone()].iter().all(is_done) {
            order[lane].iter().for_each(|&index| self.settled[index].action = Action::Ack);
            return None;
        }
        for &index in &order[lane.clone()] {
            self.read_overrides(index);
        }
        let usual = Overrides::default();
        let cases: Vec<_> = order[lane.clone()]
            .iter()
            .map(|&index| Case {
                outcome: &self.settled[index].outcome,
                attempt: self.records[index].attempt(),
                overrides: self.overrides.get(&index).unwrap_or(&usual),
                random: fastrand::f64(),
            })
            .collect();
        let actions = decide_lane(&cases, &self.policy, something_finished);
        for (&index, action) in order[lane.clone()].iter().zip(actions) {
            self.settled[index].action = action;
        }
        let stopped = |&at: &usize| !self.settled[order[at]].outcome.lets_the_lane_go_on();
        lane.clone().find(stopped).map(|head| head..lane.end)
    }

    /// Reads, once, what a message that is not done asks for.
    fn read_overrides(&mut self, index: usize) {
        let record = &self.records[index];
        let done = self.settled[index].outcome.lets_the_lane_go_on();
        if done || !record.has_attributes() || self.overrides.contains_key(&index) {
            return;
        }
        let max = self.policy.max_receive_count;
        let (overrides, warnings) = Overrides::read(&record.attributes(), self.policy.backoff, max);
        for warning in warnings {
            warn!(message_id = record.id(), warning, "an attribute of the message was not followed");
        }
        self.overrides.insert(index, overrides);
    }

    /// The letter of a record that is to be dead-lettered.
    pub(super) fn letter(&self, index: usize) -> Option<Letter<'a>> {
        let Settled { outcome, action: Action::DeadLetter { reason, .. }, confirmed: false, .. } =
            &self.settled[index]
        else {
            return None;
        };
        let record = &self.records[index];
        let (error, exception) = outcome.describe();
        let note = DeadLetter {
            reason: reason.clone().into_owned(),
            error: error.to_owned(),
            exception: exception.to_owned(),
            failed_at: SystemTime::now(),
            attempts: record.attempt(),
            message_id: record.id().to_owned(),
            source: record.source().to_owned(),
            sent_at: record.sent_at(),
            function: self.invocation.function.to_owned(),
            request_id: self.invocation.request_id.to_owned(),
        };
        let mut attributes = record.attributes();
        if !note.attach(record.body(), &mut attributes) {
            warn!(message_id = record.id(), "no room for the note: the dead letter goes without");
        }
        Some(Letter { index, record, attributes })
    }
}
