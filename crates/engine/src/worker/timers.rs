//! The timers of a worker, which fire although nothing else happens.

use super::WorkerEngine;
use crate::{MessageMeta, Time};

#[derive(Debug, Clone, Copy)]
enum Timer {
    /// A receive that waits for more free places, or for the pause after errors.
    Receive,
    /// A dependency that all messages need may be tried again.
    Breaker,
    /// The rate allows another receive.
    Rate,
    /// The shared bucket is asked for more tokens.
    Tokens,
    /// A message that waits for its key's rate may begin.
    Parked,
    /// A chunk waits for no more messages.
    Chunk,
    /// Leases are extended.
    Extension,
    /// A lease ends.
    Expiry,
    /// A call is made again.
    Call,
    /// The next part of the end.
    End,
}

impl Timer {
    const ALL: [Self; 10] = [
        Self::Receive,
        Self::Breaker,
        Self::Rate,
        Self::Tokens,
        Self::Parked,
        Self::Chunk,
        Self::Extension,
        Self::Expiry,
        Self::Call,
        Self::End,
    ];
}

impl<F: MessageMeta> WorkerEngine<'_, F> {
    pub(super) fn next_timer(&self) -> Option<Time> {
        Timer::ALL.into_iter().filter_map(|timer| self.due_at(timer)).min()
    }

    fn due_at(&self, timer: Timer) -> Option<Time> {
        let worker = &self.machine;
        let receives = !worker.is_ending();
        match timer {
            Timer::Receive => worker.pollers.due_at().filter(|_| receives),
            Timer::Breaker => self.paused_until().filter(|_| receives),
            Timer::Rate => self.rate_due_at().filter(|_| receives),
            Timer::Tokens => self.tokens_due_at().filter(|_| receives),
            Timer::Parked => self.waiting_due_at(),
            Timer::Chunk => worker.pending_chunk.due.filter(|_| self.has_a_free_call()),
            Timer::Extension => worker.leases.due_at(),
            Timer::Expiry => worker.leases.ends_at(),
            Timer::Call => worker.again.first().map(|(at, _)| *at),
            Timer::End => worker.end_due_at(),
        }
    }
}
