//! The end of a worker: after a signal, too many panics, or with too many blocked threads.

use std::time::Duration;

use super::{Worker, WorkerEngine};
use crate::batch::Phase;
use crate::keys::BatchKey;
use crate::{Command, MessageMeta, Note, Time};

/// The time that settling may take after the drain.
const AFTER_THE_DRAIN: Duration = Duration::from_secs(3);
/// The time for which too many threads may be blocked. Handlers that block for a while, as in a driver, are slow, not stuck.
const BLOCKED: Duration = Duration::from_secs(10);

/// The reason why a process ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitReason {
    /// Too many handlers in a row have panicked.
    Panics,
    /// Too many threads are blocked.
    Blocked,
}

/// The end of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Everything is settled. `canceled` is true if handlers were canceled.
    Settled { canceled: bool },
    /// This many messages were not settled.
    Unsettled(usize),
    /// A receive was not answered in time.
    Unanswered,
    /// The process can handle no more messages.
    Because(ExitReason),
    /// A second signal arrived while this many messages were in hand.
    AtOnce(usize),
}

/// The phases of a worker, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// No more messages begin.
    Draining {
        until: Time,
    },
    /// Handlers are canceled.
    Closing {
        until: Time,
    },
    /// The command to end it was given.
    Over,
}

impl<F: MessageMeta> WorkerEngine<'_, F> {
    /// Begins the drain at the first signal, and exits at the second.
    pub(crate) fn on_signal(&mut self, now: Time) {
        if std::mem::replace(&mut self.machine.is_signaled, true) {
            self.commands.clear();
            self.exit(Exit::AtOnce(self.machine.held.len()));
        } else {
            // It may be ending by itself.
            self.drain(None, now);
        }
    }

    pub(crate) fn drain(&mut self, why: Option<ExitReason>, now: Time) {
        if self.machine.is_ending() {
            return;
        }
        let until = now + self.machine.receiving.drain;
        (self.machine.life, self.machine.why) = (Life::Draining { until }, why);
        self.note(Note::Drains(why));
        let keys: Vec<_> = self.batches.keys().copied().collect();
        keys.into_iter().for_each(|key| self.stop_what_has_other_deliveries(key));
        self.hand_back_waiting(now);
        self.hand_back_gathered(true, now);
    }

    /// Stops a batch while the worker ends, unless one of its messages would have no delivery left.
    pub(crate) fn stop_what_has_other_deliveries(&mut self, key: BatchKey) {
        if self.machine.is_ending()
            && let Some(batch) = self.batches.get_mut(&key).filter(|batch| batch.phase == Phase::Open)
        {
            let stops = batch.stops_unless_one_is_last(&self.context);
            self.commands.extend(stops.then_some(Command::Stop(key)));
        }
    }

    /// Notes that too many threads are blocked, or no longer.
    pub(crate) fn exhausted(&mut self, is_exhausted: bool, now: Time) {
        let since = is_exhausted.then(|| self.machine.blocked_since.unwrap_or(now));
        self.machine.blocked_since = since;
        if since.is_some_and(|since| since + BLOCKED <= now) {
            self.drain(Some(ExitReason::Blocked), now);
        }
    }

    /// Begins the next part of the end if it is due, and ends once everything is settled.
    pub(crate) fn end(&mut self, now: Time) {
        let worker = &mut self.machine;
        let (Life::Draining { until } | Life::Closing { until }) = worker.life else { return };
        let canceled = matches!(worker.life, Life::Closing { .. });
        let is_settled = worker.pollers.under_way == 0
            && self.batches.is_empty()
            && worker.pending_chunk.messages.is_empty();
        if is_settled || canceled && until <= now {
            let exit = match (worker.why, worker.held.len() + worker.unconfirmed) {
                (Some(why), _) => Exit::Because(why),
                (None, 0) if is_settled => Exit::Settled { canceled },
                (None, 0) => Exit::Unanswered,
                (None, messages) => Exit::Unsettled(messages),
            };
            self.exit(exit);
        } else if until <= now {
            worker.life = Life::Closing { until: until + AFTER_THE_DRAIN };
            self.note(Note::Cancels);
            let keys: Vec<_> = self.batches.keys().copied().collect();
            for key in keys {
                if let Some(batch) = self.batches.get_mut(&key).filter(|batch| batch.may_close()) {
                    batch.interrupt();
                    self.cancel(key, now);
                }
            }
            self.hand_back_gathered(false, now);
        }
    }

    fn exit(&mut self, exit: Exit) {
        self.machine.life = Life::Over;
        self.commands.push_back(Command::Exit(exit));
    }
}

impl<F> Worker<F> {
    /// Returns when the next part of the end is due, or the end because of blocked threads.
    pub(super) fn end_due_at(&self) -> Option<Time> {
        match self.life {
            Life::Running => self.blocked_since.map(|since| since + BLOCKED),
            Life::Draining { until } | Life::Closing { until } => Some(until),
            Life::Over => None,
        }
    }

    pub(crate) const fn is_ending(&self) -> bool {
        !matches!(self.life, Life::Running)
    }

    /// Returns the time by which the last call must have been answered.
    pub(crate) fn settle_until(&self) -> Time {
        match self.life {
            Life::Running | Life::Over => Time::MAX,
            Life::Draining { until } => until + AFTER_THE_DRAIN,
            Life::Closing { until } => until,
        }
    }
}
