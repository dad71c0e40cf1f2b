//! The leases of a worker's messages. Its calls end with them, and are made again while they hold.

use std::time::Duration;

use redrive_sqs::lease::{LONGEST, Standing};

use super::WorkerEngine;
use crate::State;
use crate::guards::{Guard, guard, holds};
use crate::keys::{BatchKey, LeaseKey, MessageKey};
use crate::outbox::SettleCall;
use crate::{Command, Extension, MessageMeta, Note, Time};

/// The time that a call and its tries may take.
const CALL: Duration = Duration::from_secs(5);
/// The time left on a lease that is too short for a call, which must be answered before the lease ends.
const TOO_LATE: Duration = Duration::from_millis(50);
/// The time before a message may be visible again in which its visibility timeout is no longer set.
const MARGIN: Duration = Duration::from_millis(500);
/// The first pause before a call is made again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl<F: MessageMeta> WorkerEngine<'_, F> {
    /// Settles a message: at once, once the extension of its lease is answered, or not at all if its lease is lost.
    pub(crate) fn settle(&mut self, kind: SettleCall, key: MessageKey, now: Time) {
        let Some(lease) = self.message(key).and_then(|message| message.lease) else {
            return self.with(key.batch, now, |batch, _| batch.set(key.at, State::Left));
        };
        let leases = &mut self.machine.leases;
        let standing = match kind {
            // Its lease is extended until it is deleted. An extension that arrives after that undoes nothing.
            SettleCall::DeadLetter | SettleCall::Delete if leases.until(lease).is_some() => Standing::Held,
            SettleCall::DeadLetter | SettleCall::Delete => Standing::Lost,
            SettleCall::ChangeVisibility => leases.settle(lease),
        };
        let waits = guard!(DelayWaits, standing == Standing::Extending);
        if let Some(held) = self.machine.held.get_mut(&lease) {
            self.machine.in_hand -= usize::from(!std::mem::replace(&mut held.is_asked, true));
            held.waits = waits;
        }
        if guard!(LostIsLeft, standing == Standing::Lost) {
            self.message_answered(kind, key, false, now);
        } else if !waits {
            self.queue(kind, key, now);
        }
    }

    /// Repeats the calls that are due.
    pub(crate) fn call_again(&mut self, now: Time) {
        while let Some(&(at, key)) = self.machine.again.first().filter(|(at, _)| *at <= now) {
            self.machine.again.remove(&(at, key));
            if let Some(kind) = self.message(key).and_then(|message| message.settled.state.call()) {
                self.queue(kind, key, now);
            }
        }
    }

    /// Returns the visibility timeout for a message of a call that is made now, and the time by which the call must have been
    /// answered. `None` if it must not be made any more.
    pub(crate) fn entry(&mut self, kind: SettleCall, key: MessageKey, now: Time) -> Option<(Duration, Time)> {
        let until = self.may_call_until(kind, key);
        let message = self.batches.get_mut(&key.batch)?.messages.get_mut(key.at)?;
        let after = message.settled.action.back_after().unwrap_or_default();
        let lease = message.lease?;
        let margin = if holds(Guard::NoneTooLate) { TOO_LATE } else { Duration::ZERO };
        let until = until.filter(|until| *until > now + margin);
        let until = until.or((!holds(Guard::LostIsLeft)).then_some(Time::MAX))?;
        message.tries += 1;
        let received = self.machine.held.get(&lease).map_or(Time::ZERO, |held| held.received);
        let longest = Duration::from_secs((received + LONGEST).saturating_sub(now).as_secs());
        let until = until.min(now + CALL).min(self.machine.settle_until());
        Some((after.min(longest), until))
    }

    /// Returns the time until which SQS may be called for a message: until its lease ends, or shortly before the end of a
    /// visibility timeout that an earlier call may have set. After that, on a standard queue, an old receipt handle would hide the
    /// message from others.
    fn may_call_until(&self, kind: SettleCall, key: MessageKey) -> Option<Time> {
        let message = self.message(key)?;
        let until = self.machine.leases.until(message.lease?)?;
        let is_repeat = guard!(RepeatWhileHidden, kind == SettleCall::ChangeVisibility);
        let hidden = message.hidden_until.filter(|_| is_repeat);
        Some(hidden.map_or(until, |hidden| until.min(hidden.saturating_sub(MARGIN))))
    }

    /// Repeats a call later, while the lease of its message holds. Returns true if it does.
    pub(crate) fn tries_again(&mut self, kind: SettleCall, key: MessageKey, now: Time) -> bool {
        let Some(message) = self.message(key) else { return false };
        let tries = message.tries.saturating_sub(1).min(10);
        let at = now + FIRST_PAUSE.saturating_mul(1 << tries).min(LONGEST_PAUSE);
        // The lease of a message that is to be deleted is extended.
        let until = self
            .may_call_until(kind, key)
            .map(|until| if kind == SettleCall::Delete { Time::MAX } else { until });
        let in_time = until.is_some_and(|until| at < until.min(self.machine.settle_until()));
        if in_time {
            self.machine.again.insert((at, key));
        }
        in_time
    }

    /// Leaves running messages to their next receivers: their leases are not extended any more.
    pub(crate) fn let_go(&mut self, messages: &[MessageKey]) {
        for &key in messages {
            let message = self.message(key).filter(|it| it.settled.state == State::Running);
            if let Some(lease) = message.and_then(|message| message.lease) {
                self.machine.leases.settle(lease);
            }
        }
    }

    /// Returns the time until which the handlers of a batch may continue without another check of their leases: the first of
    /// these ends then. `None` if none is held.
    pub fn held_until(&self, batch: BatchKey) -> Option<Time> {
        if !holds(Guard::PollWhileLeased) {
            return Some(self.context.now + LONGEST);
        }
        let messages = self.batches.get(&batch)?.messages.iter();
        let running = messages.filter(|message| message.settled.state == State::Running);
        running.filter_map(|message| self.machine.leases.until(message.lease?)).min()
    }

    /// Extends leases that are due, and gives up those that have ended.
    pub(crate) fn keep_leases(&mut self, now: Time) {
        self.expire_leases(now);
        loop {
            let due = self.machine.leases.due(now);
            if due.is_empty() {
                return;
            }
            self.commands.push_back(Command::Extend(due));
        }
    }

    pub(crate) fn expire_leases(&mut self, now: Time) {
        for lease in self.machine.leases.expired(now) {
            self.lost(lease, now);
        }
    }

    pub(crate) fn extended(
        &mut self,
        asked: Time,
        leases: &[(LeaseKey, u64)],
        answers: Result<Vec<(LeaseKey, Extension)>, String>,
        now: Time,
    ) {
        let was_failing = std::mem::replace(&mut self.machine.is_extension_failing, answers.is_err());
        match &answers {
            Err(error) if !was_failing => self.note(Note::ExtensionsFail(error.clone())),
            Ok(_) if was_failing => self.note(Note::ExtensionsSucceed),
            Ok(_) | Err(_) => {}
        }
        let answers = answers.unwrap_or_default();
        for &(lease, seconds) in leases {
            let answer = answers.iter().find(|(known, _)| *known == lease);
            match answer.map_or(Extension::Unanswered, |(_, extension)| *extension) {
                Extension::Granted => self.machine.leases.extended(lease, asked, seconds),
                // The delete may have arrived before the extension.
                Extension::Refused if self.is_deleting(lease) => self.machine.leases.not_extended(lease, now),
                Extension::Refused if self.machine.leases.until(lease).is_some() => self.lost(lease, now),
                Extension::Refused => {}
                Extension::Unanswered => self.machine.leases.not_extended(lease, now),
            }
            if let Some(held) = self.machine.held.get_mut(&lease)
                && std::mem::take(&mut held.waits)
                && let Some(key) = held.key
            {
                self.queue(SettleCall::ChangeVisibility, key, now);
            }
        }
    }

    /// Returns true if the call that deletes the message was made, so that the extension of its lease may be refused.
    fn is_deleting(&self, lease: LeaseKey) -> bool {
        let key = self.machine.held.get(&lease).and_then(|held| held.key);
        let message = key.and_then(|key| self.message(key));
        message.is_some_and(|message| message.tries > 0 && message.settled.state == State::Deleting)
    }

    /// Handles the loss of a lease.
    fn lost(&mut self, lease: LeaseKey, now: Time) {
        self.machine.leases.forget(lease);
        self.note(Note::LeaseLost);
        let Some(key) = self.machine.held.get(&lease).and_then(|held| held.key) else {
            let behind = self.machine.pending_chunk.remove(lease, self.machine.receiving.is_fifo);
            for behind in behind.into_iter().chain(self.machine.parked.remove(lease)) {
                self.machine.leases.forget(behind.lease);
                self.release(behind.lease);
            }
            self.release(lease);
            return;
        };
        let mut all_are_lost = false;
        self.with(key.batch, now, |batch, _| all_are_lost = batch.lost(key.at));
        if all_are_lost {
            self.cancel(key.batch, now);
        }
    }
}
