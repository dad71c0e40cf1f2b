//! Runs one Lambda batch: performs the engine's commands until it reports the outcomes.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock, and random numbers")]

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::stream::{FuturesUnordered, StreamExt};
use redrive_sqs::{QueueArn, is_fifo};
use tokio::time::{Instant, sleep_until};
use tracing::{Span, warn};

use super::LambdaShell;
use crate::aws::Sqs;
use crate::aws::settle::{Entries, Failed};
use crate::message::invocation::Invocation;
use crate::message::meta::Known;
use crate::message::records::Records;
use crate::runners::{Begun, Phase, Work};
use crate::telemetry::log;
use redrive_engine::{
    BatchLimits, Call, Command, Event, LambdaEngine, Message, Note, SettleCall, Settlement,
};

impl LambdaShell<'_> {
    /// Runs the batch until every message that was started has ended and is settled, or time is up.
    pub(super) async fn follow(
        &self,
        work: &Work,
        shared: &Arc<Records>,
        invocation: &Invocation,
        (began, until, settle_until): (Instant, Instant, Instant),
    ) -> Vec<Settlement> {
        let records = shared.list();
        let has_dead_letter_queue =
            records.first().is_some_and(|record| record.context().has_dead_letter_queue);
        let wall = self.wall();
        let ahead = invocation
            .simulated()
            .unwrap_or_default()
            .saturating_sub(wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        let mut engine = LambdaEngine::of_batch(
            records.iter().map(|record| Known { record, depends_on: self.dependencies, ahead }),
            is_fifo(shared.source()),
            self.policy(shared.source(), has_dead_letter_queue),
            BatchLimits {
                epoch: self.process.since_epoch(wall, invocation.simulated()).saturating_sub(began.elapsed()),
                until: until.duration_since(began),
                settle_until: settle_until.duration_since(began),
                has_client: self.sqs.is_some(),
                ends_process: self.shutdown.is_some(),
            },
            &mut self.process.shared(),
            fastrand::u64(..),
        );
        let Some(Command::Begin { batch, order, .. }) = engine.next(began.elapsed()) else {
            unreachable!("first of all, a batch begins");
        };
        let (records, span) = (Arc::clone(shared), Span::current());
        let (phase, lease) = (Phase::default(), None);
        let begun = Begun { key: batch, records, order, began, until, span, phase, lease };
        let (begun, queue) = (Arc::new(begun), work.queue());
        let dead = self.settings.dead_letter_queue_url.as_deref().unwrap_or_default();
        let mut calls = FuturesUnordered::new();
        let (mut is_ending, mut is_canceled, mut is_polled) = (false, false, false);
        loop {
            let (worked, _) = queue.take();
            if !worked.is_empty() {
                self.on(&mut engine, Event::Ended(worked), began);
            }
            while let Some(command) = self.next(&mut engine, began) {
                match command {
                    Command::Run { lanes, .. } => {
                        let added = lanes.len();
                        work.add(&begun, lanes);
                        work.start(added);
                    }
                    Command::Withdraw { places, .. } => {
                        let worked = queue.withdraw(&begun, &places);
                        self.on(&mut engine, Event::Ended(worked), began);
                    }
                    Command::Stop(_) => {
                        queue.stop(&begun);
                        is_ending = true;
                    }
                    Command::Cancel(_) => {
                        queue.cancel(&begun);
                        (is_ending, is_canceled) = (true, true);
                    }
                    Command::GiveUp(_) => {
                        let worked = queue.give_up(&begun);
                        self.on(&mut engine, Event::Exhausted(self.host.is_exhausted()), began);
                        self.on(&mut engine, Event::GivenUp { batch, worked }, began);
                    }
                    Command::Call(call) => {
                        let handle = |key| engine.message(key).map(|it| it.facts.record.receipt_handle());
                        let message = |key| {
                            let Message { facts: Known { record, .. }, settled, .. } = engine.message(key)?;
                            Some(Failed { record, settled, invocation })
                        };
                        let now = self.wall();
                        let (entries, without_note) = Entries::new(&call, dead, now, handle, message);
                        for record in
                            without_note.iter().filter_map(|&key| Some(engine.message(key)?.facts.record))
                        {
                            log::letter_without_note(&begun.span, record);
                        }
                        let url = QueueArn::parse(shared.source()).map(|arn| arn.url());
                        let sqs = self.sqs.filter(|_| url.is_some() || call.kind == SettleCall::DeadLetter);
                        if sqs.is_none() {
                            warn!(
                                arn = shared.source(),
                                "not the ARN of a queue, so visibility timeouts are not changed"
                            );
                        }
                        let until = began + call.until;
                        calls.push(async move {
                            let url = url.unwrap_or_default();
                            make_call(call, entries, sqs, (&url, dead), until).await
                        });
                    }
                    Command::EndProcess(why) => {
                        self.shutdown.iter().for_each(|shutdown| shutdown.begin(why.into()));
                    }
                    Command::Report { settled, .. } => {
                        // As with calls, a fifth of the time is left for the metrics.
                        let now = Instant::now();
                        let left = settle_until.saturating_duration_since(now);
                        work.recorded(now + left.mul_f64(0.8)).await;
                        return settled;
                    }
                    Command::Note(Note::AttributeIgnored { id, warning, .. }) => {
                        log::ignored_attribute(&id, &warning);
                    }
                    Command::Note(Note::IsDown { dependency, error }) => log::is_down(&dependency, &error),
                    Command::Note(Note::IsUp { dependency }) => log::is_up(&dependency),
                    Command::Note(Note::IsNotNeeded { dependency, needed }) => {
                        log::is_not_needed(&dependency, &needed);
                    }
                    Command::Note(Note::Overloaded { unstarted, all }) => log::overloaded(unstarted, all),
                    // Only a worker's engine sends these.
                    Command::Begin { .. }
                    | Command::Receive(_)
                    | Command::Lease(_)
                    | Command::Extend(_)
                    | Command::Forget(_)
                    | Command::Note(_)
                    | Command::Exit(_) => {}
                }
            }
            if is_ending && queue.is_idle(batch) {
                is_ending = false;
                self.on(&mut engine, Event::Idle(batch), began);
                continue;
            }
            if !std::mem::replace(&mut is_polled, true) {
                work.polled_inline().await;
                continue;
            }
            let wake = engine.wake_at().map(|at| began + at);
            let check_at = work.check_at(Instant::now()).filter(|_| !is_canceled);
            let next = wake.into_iter().chain(check_at).min();
            tokio::select! {
                biased;
                () = work.changed() => {}
                Some(answered) = calls.next(), if !calls.is_empty() => self.on(&mut engine, answered, began),
                () = sleep_until(next.unwrap_or(settle_until)) => drop(work.check(Instant::now())),
            }
        }
    }

    fn next<'r>(&self, engine: &mut LambdaEngine<'_, Known<'r>>, began: Instant) -> Option<Command> {
        engine.share(&mut self.process.shared(), |engine| engine.next(began.elapsed()))
    }

    /// Tells the engine of a batch what has happened.
    fn on<'r>(&self, engine: &mut LambdaEngine<'_, Known<'r>>, event: Event<Known<'r>>, began: Instant) {
        engine.share(&mut self.process.shared(), |engine| engine.on(event, began.elapsed()));
    }
}

/// Makes a call to a queue, or sends letters to its dead-letter queue. Without a client, nothing is confirmed.
pub(crate) async fn make_call<F>(
    call: Call,
    entries: Entries,
    sqs: Option<&Sqs>,
    (queue, dead): (&str, &str),
    until: Instant,
) -> Event<F> {
    let sent = Instant::now();
    let ruled = match sqs {
        Some(sqs) => entries.send(sqs, queue, dead, until).await,
        None => Vec::new(),
    };
    let answers = ruled.into_iter().map(|(place, answer)| (call.messages[place].0, answer)).collect();
    Event::Answered { call, answers, took: sent.elapsed() }
}
