//! The machine of a Lambda batch: its lease is the deadline, and Lambda deletes the messages that the response does not name.

use std::time::Duration;

use super::batch::{Batch, Deletes, Phase};
use super::decide::Policy;
use super::engine::{Engine, Machine};
use super::keys::{BatchKey, MessageKey};
use super::outbox::SettleCall;
use super::settlement::State;
use super::{Command, Event, ExitReason, MessageMeta, Shared, Time};

/// The time for which the first entry of a call waits for others.
const GATHERING: Duration = Duration::from_millis(20);

/// Follows one batch until its handlers are canceled, and its calls until the response is due.
pub type LambdaEngine<'a, F> = Engine<'a, F, Invocation>;

/// The limits that an invocation sets for its batch.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimits {
    /// The start of the invocation, since the epoch of the wall clock.
    pub epoch: Time,
    /// The time at which its handlers are canceled.
    pub until: Time,
    /// The time by which the last call to SQS must have been answered.
    pub settle_until: Time,
    /// True if SQS can be called.
    pub has_client: bool,
    /// True if the process can be ended when it can handle no more messages.
    pub ends_process: bool,
}

/// The state of an invocation.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub(crate) limits: BatchLimits,
    /// True if too many threads are blocked for handlers to run.
    is_exhausted: bool,
}

impl<'a, F: MessageMeta> LambdaEngine<'a, F> {
    /// Creates an engine and begins its batch.
    pub fn of_batch(
        messages: impl Iterator<Item = F>,
        is_fifo: bool,
        policy: Policy<'a>,
        limits: BatchLimits,
        shared: &mut Shared,
        seed: u64,
    ) -> Self {
        let invocation = Invocation { limits, is_exhausted: false };
        let mut engine = Self::new(policy, GATHERING, limits.epoch, (seed, shared.secret), invocation);
        let messages = messages.map(|facts| (facts, None));
        let (mut batch, order) = Batch::new(messages, is_fifo, (Time::ZERO, limits.until), Deletes::ByLambda);
        if limits.has_client && !is_fifo && !shared.outlived_suspects {
            batch.isolate(&engine.context.policy);
        }
        engine.share(shared, |engine| engine.begin(batch, order, Vec::new()));
        engine
    }
}

impl<F: MessageMeta> Machine<F> for Invocation {
    /// Notes blocked threads. The other events are those of a worker.
    fn on(engine: &mut LambdaEngine<'_, F>, event: Event<F>, _now: Time) {
        if let Event::Exhausted(is_exhausted) = event {
            engine.machine.is_exhausted = is_exhausted;
        }
    }

    fn gave_up(engine: &mut LambdaEngine<'_, F>, now: Time) {
        if engine.machine.is_exhausted && Self::end_process(engine, ExitReason::Blocked, now) {
            engine.context.policy.ends = true;
        }
    }

    fn settle(engine: &mut LambdaEngine<'_, F>, kind: SettleCall, key: MessageKey, now: Time) {
        if engine.machine.limits.has_client {
            engine.queue(kind, key, now);
        } else {
            engine.with(key.batch, now, |batch, _| batch.set(key.at, State::Left));
        }
    }

    fn flushes(engine: &LambdaEngine<'_, F>) -> bool {
        engine.batches.values().all(|batch| batch.running == 0 || batch.phase == Phase::Over)
    }

    /// Reserves a fifth of the remaining time for the metrics, which matter most when SQS hangs.
    fn entry(
        engine: &mut LambdaEngine<'_, F>,
        _: SettleCall,
        key: MessageKey,
        now: Time,
    ) -> Option<(Duration, Time)> {
        let after = engine.message(key)?.settled.action.back_after();
        let until = now + engine.machine.limits.settle_until.saturating_sub(now).mul_f64(0.8);
        Some((after.unwrap_or_default(), until))
    }

    fn batch_ended(engine: &mut LambdaEngine<'_, F>, _: BatchKey, batch: &Batch<F>) {
        let ran_suspects = batch.ran_suspects(&engine.context.policy);
        engine.context.shared.outlived_suspects |= ran_suspects;
    }

    fn end_process(engine: &mut LambdaEngine<'_, F>, why: ExitReason, _: Time) -> bool {
        let ends = engine.machine.limits.ends_process;
        engine.commands.extend(ends.then_some(Command::EndProcess(why)));
        ends
    }
}
