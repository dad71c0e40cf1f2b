//! The pure steps one by one, for the measurements in `dev/bench/steps`. Compiled only for them and for tests.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;

use crate::message::invocation::Invocation;
use crate::message::meta::Known;
use crate::message::record::BatchContext;
use crate::message::records::Records;
use crate::settings::Settings;
use crate::telemetry::report;
use redrive_engine::decide::{Case, Unstarted, decide_lane};
use redrive_engine::{
    Disposition, ErrorSummary, MessageOverrides, Outcome, Overrides, Ran, Settlement, State, plan,
};

/// One of this many messages fails.
const FAILING: usize = 10;

/// A parsed event.
#[derive(Debug)]
pub struct Batch(Records);

impl Batch {
    /// Reads the event of an invocation.
    #[must_use]
    pub fn parse(event: &Bytes, deadline: Instant) -> Self {
        let context = BatchContext {
            max_receive_count: Some(10),
            has_dead_letter_queue: true,
            overrides: Overrides::Less,
            origin_senders: None,
            deadline,
            invocation: Invocation::until(deadline),
        };
        Self(Records::read(event.clone(), &context).expect("an event of SQS"))
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn plan(&self) -> usize {
        let known: Vec<_> = self
            .0
            .list()
            .iter()
            .map(|record| Known { record, depends_on: None, ahead: Duration::ZERO })
            .collect();
        plan::plan(&known, false, |known| known).lanes.len()
    }

    /// Returns the batch after every handler has ended.
    #[must_use]
    pub fn work(self) -> Worked {
        let (took, ended) = (Duration::from_millis(1), Duration::from_millis(2));
        let ran = Some(Ran { took, ended, is_shared: false });
        let settled = (0..self.0.list().len()).map(|at| {
            let fails = at % FAILING == FAILING - 1;
            let outcome = if fails { Outcome::Failed(fault()) } else { Outcome::Done };
            Settlement {
                outcome,
                state: if fails { State::Back } else { State::Gone },
                ran,
                ..Settlement::default()
            }
        });
        Worked { settled: settled.collect(), records: self.0 }
    }
}

fn fault() -> Box<ErrorSummary> {
    let (error, exception) = ("poison".to_owned(), "error".into());
    Box::new(ErrorSummary {
        disposition: Disposition::Retry,
        code: None,
        error,
        exception,
        delay: None,
        dependency: None,
        is_of_store: false,
    })
}

/// A batch whose handlers have ended.
#[derive(Debug)]
pub struct Worked {
    records: Records,
    settled: Vec<Settlement>,
}

impl Worked {
    /// Decides on every message. Returns the number of those that are done.
    pub fn decide(&mut self) -> usize {
        let mut settings = Settings::default();
        settings.max_receive_count = settings.keep(10);
        settings.visibility_timeout = settings.keep(Duration::from_secs(180));
        let policy = settings.policy("orders", true);
        let asked = MessageOverrides::default();
        for (record, settled) in self.records.list().iter().zip(&mut self.settled) {
            let outcome = &settled.outcome;
            let case = Case {
                outcome,
                attempt: record.attempt(),
                overrides: &asked,
                age: Duration::ZERO,
                random: 0.5,
            };
            settled.action = decide_lane(&[case], &policy, Unstarted::AtOnce).remove(0);
        }
        self.settled.iter().filter(|settled| settled.is_over()).count()
    }

    /// Counts the results and writes the response. Returns the number of failures in it.
    #[must_use]
    pub fn report(&self) -> usize {
        let report = report::report(self.records.list(), &self.settled, SystemTime::UNIX_EPOCH, true);
        std::hint::black_box(report);
        report::response(self.records.list(), &self.settled).batch_item_failures.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_goes_through_all_steps() {
        let records = (0..20).map(|id| format!(r#"{{"messageId": "{id}", "body": "{{}}"}}"#));
        let event = format!(r#"{{"Records": [{}]}}"#, records.collect::<Vec<_>>().join(","));
        let batch = Batch::parse(&event.into(), Instant::now());
        assert_eq!(batch.plan(), 20);
        let mut worked = batch.work();
        assert_eq!((worked.decide(), worked.report()), (18, 2));
    }
}
