//! Runs one batch of Lambda's: does what the engine says, until it reports.
#![expect(clippy::disallowed_methods, reason = "impure: it draws random numbers")]

use std::sync::{Arc, PoisonError};

use futures_util::stream::{FuturesUnordered, StreamExt};
use redrive_sqs::{QueueArn, is_fifo};
use tokio::time::{Instant, sleep_until};
use tracing::{Span, warn};

use super::Flow;
use crate::engine::{Command, Engine, Event, Kind, Settled};
use crate::record::Record;
use crate::records::Records;
use crate::settle::Entries;
use crate::work::{Begun, Input, Phase, Work};
use crate::{Handler, Invocation};

impl Flow<'_> {
    /// Runs the batch until every message that was started has ended and is settled, or time is up.
    pub(super) async fn follow<H, M>(
        &self,
        work: &Work<H, M>,
        shared: &Arc<Records>,
        invocation: &Invocation,
        (began, until, settle_until): (Instant, Instant, Instant),
    ) -> Vec<Settled>
    where
        H: Handler<M>,
        M: Input,
    {
        let records = shared.list();
        let has_dead_letter_queue =
            records.first().is_some_and(|record| record.limits().has_dead_letter_queue);
        let times = (until.duration_since(began), settle_until.duration_since(began));
        let mut engine = Engine::of_batch(
            records.iter(),
            is_fifo(shared.source()),
            self.policy(shared.source(), has_dead_letter_queue),
            times,
            (self.sqs.is_some(), self.shutdown.is_some()),
            fastrand::u64(..),
        );
        let dead = self.settings.dead_letter_queue_url.as_deref().unwrap_or_default();
        let (mut begun, mut is_ending, mut is_canceled) = (None::<Arc<Begun>>, false, false);
        let mut calls = FuturesUnordered::new();
        let (mut is_polled, mut was_idle) = (false, false);
        loop {
            let (worked, _) = work.queue().take();
            if !worked.is_empty() {
                self.tell(&mut engine, Event::Ended(worked), began);
            }
            let idle = |begun: &Option<Arc<Begun>>| {
                begun.as_ref().map(|of| of.key).filter(|batch| work.queue().is_idle(*batch))
            };
            if let Some(batch) = idle(&begun).filter(|_| is_ending) {
                self.tell(&mut engine, Event::Idle(batch), began);
            }
            while let Some(command) = engine.next(began.elapsed()) {
                match command {
                    Command::Begin { batch, order, .. } => {
                        let (records, span) = (Arc::clone(shared), Span::current());
                        begun = Some(Arc::new(Begun {
                            key: batch,
                            records,
                            order,
                            began,
                            until,
                            span,
                            phase: Phase::default(),
                        }));
                    }
                    Command::Run { lanes, .. } => {
                        if let Some(of) = &begun {
                            work.add(of, lanes);
                        }
                    }
                    Command::Stop(_) => {
                        begun.iter().for_each(|of| work.queue().stop(of));
                        is_ending = true;
                    }
                    Command::Cancel(_) => {
                        begun.iter().for_each(|of| work.queue().cancel(of));
                        (is_ending, is_canceled) = (true, true);
                    }
                    Command::GiveUp(batch) => {
                        let worked = begun.iter().flat_map(|of| work.queue().give_up(of)).collect();
                        let is_exhausted = self.host.is_exhausted();
                        self.tell(&mut engine, Event::GivenUp { batch, worked, is_exhausted }, began);
                    }
                    Command::Call(call) => {
                        let entries = {
                            let handle = |key| engine.message(key).map(|(record, _)| record.receipt_handle());
                            let message = |key| {
                                engine.message(key).map(|(record, settled)| (*record, settled, invocation))
                            };
                            Entries::new(&call, dead, handle, message)
                        };
                        let url = QueueArn::parse(shared.source()).map(|arn| arn.url());
                        let sqs = self.sqs.filter(|_| url.is_some() || call.kind == Kind::Letters);
                        if sqs.is_none() {
                            warn!(
                                arn = shared.source(),
                                "not the ARN of a queue, so visibility timeouts are not changed"
                            );
                        }
                        calls.push(async move {
                            let (url, sent) = (url.unwrap_or_default(), Instant::now());
                            let confirmed = match sqs {
                                Some(sqs) => entries.send(sqs, &url, dead, began + call.until).await,
                                None => Vec::new(),
                            };
                            let confirmed =
                                confirmed.into_iter().map(|index| call.messages[index].0).collect();
                            Event::Answered { call, confirmed, took: sent.elapsed() }
                        });
                    }
                    Command::EndProcess(why) => {
                        self.shutdown.iter().for_each(|shutdown| shutdown.begin(why.into()));
                    }
                    Command::Report { settled, .. } => return settled,
                    Command::Receive(_)
                    | Command::Extend(_)
                    | Command::Forget(_)
                    | Command::Note(_)
                    | Command::Exit(_) => {}
                }
            }
            if is_ending && idle(&begun).is_some() && !std::mem::replace(&mut was_idle, true) {
                continue;
            }
            if !std::mem::replace(&mut is_polled, true) {
                work.polled_inline().await;
                continue;
            }
            let now = Instant::now();
            let wake = engine.wake_at().map(|at| began + at);
            let check_at = work.check_at(now).filter(|_| !is_canceled);
            let next = wake.into_iter().chain(check_at).min();
            tokio::select! {
                biased;
                () = work.changed() => {}
                Some(answered) = calls.next(), if !calls.is_empty() => self.tell(&mut engine, answered, began),
                () = sleep_until(next.unwrap_or(settle_until)) => work.check(Instant::now()),
            }
        }
    }

    /// Tells the engine of a batch, which shares the streak with the other batches of the process.
    fn tell<'r>(
        &self,
        engine: &mut Engine<'_, &'r Record<'r>>,
        event: Event<&'r Record<'r>>,
        began: Instant,
    ) {
        let mut streak = self.streak.lock().unwrap_or_else(PoisonError::into_inner);
        engine.streak = *streak;
        engine.on(event, began.elapsed());
        *streak = engine.streak;
    }
}
