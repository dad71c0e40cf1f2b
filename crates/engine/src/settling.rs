//! Letters, visibility timeouts and deletes: which call is due, and what its answer means. A worker's calls end with the
//! leases of their messages, and are made again while those hold.

use std::collections::BTreeMap;
use std::time::Duration;

use super::batch::Phase;
use super::guards::{Guard, holds};
use super::keys::{LeaseKey, MessageKey};
use super::outbox::Kind;
use super::settled::State;
use super::{Command, Engine, Facts, Note, Time};
use redrive_sqs::lease::{LONGEST, Standing};

/// How long a worker's call and its tries may take.
const CALL: Duration = Duration::from_secs(5);
/// With less time left on a lease no call is made, which would have to be answered by then.
const TOO_LATE: Duration = Duration::from_millis(50);
/// How long before a message may be visible again its visibility timeout is no longer set.
const MARGIN: Duration = Duration::from_millis(500);
/// The first pause before a call is made again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A call to SQS, which the shell has to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub kind: Kind,
    /// Each with its visibility timeout if that is to be set.
    pub messages: Vec<(MessageKey, Duration)>,
    pub sent: Time,
    /// When it must have been answered, with all its tries.
    pub until: Time,
}

/// What SQS says of a message of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    Done,
    /// SQS would refuse it again.
    Refused,
    /// It was not done, and may be if it is sent again.
    NotDone,
}

/// The answer to the extension of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    Granted,
    /// The message is deleted, or visible.
    Refused,
    Unanswered,
}

impl<F: Facts> Engine<'_, F> {
    /// A message is to be settled.
    pub(crate) fn ask(&mut self, key: MessageKey, now: Time) {
        let Some(message) = self.message(key) else { return };
        let Some(kind) = message.settled.state.call() else { return };
        let Some(lease) = message.lease else {
            if self.limits.is_some_and(|limits| limits.has_client) {
                self.queue(kind, key, now);
            } else {
                self.with(key.batch, now, |batch, _| batch.set(key.at, State::Left));
            }
            return;
        };
        let leases = &mut self.worker.leases;
        let standing = match kind {
            // Its lease is extended until it is deleted. An extension that comes after that undoes nothing.
            Kind::Letters | Kind::Deletes if leases.until(lease).is_some() => Standing::Held,
            Kind::Letters | Kind::Deletes => Standing::Lost,
            Kind::Changes => leases.settle(lease),
        };
        let waits = standing == Standing::Extending && holds(Guard::DelayWaits);
        if let Some(held) = self.worker.held.get_mut(&lease) {
            self.worker.in_hand -= usize::from(!std::mem::replace(&mut held.is_asked, true));
            held.waits = waits;
        }
        if standing == Standing::Lost && holds(Guard::LostIsLeft) {
            self.message_answered(kind, key, false, now);
        } else if !waits {
            self.queue(kind, key, now);
        }
    }

    fn queue(&mut self, kind: Kind, key: MessageKey, now: Time) {
        if let Some(batch) = self.batches.get(&key.batch) {
            self.outbox.add(kind, key, batch.lane_of(key.at), now);
        }
    }

    /// Makes the calls that are due.
    pub(crate) fn call(&mut self, now: Time) {
        while let Some(&(at, key)) = self.worker.again.first().filter(|(at, _)| *at <= now) {
            self.worker.again.remove(&(at, key));
            if let Some(kind) = self.message(key).and_then(|message| message.settled.state.call()) {
                self.queue(kind, key, now);
            }
        }
        let (is_fifo, is_ending) = (self.worker.receiving.is_fifo, self.worker.is_ending());
        let flush = match self.limits {
            Some(_) => self.batches.values().all(|batch| batch.running == 0 || batch.phase == Phase::Over),
            None => is_fifo || is_ending,
        };
        while let Some((kind, mut keys)) = self.outbox.next_call(now, flush) {
            if is_fifo && holds(Guard::TailFirst) {
                // The end of a group first, so that its messages come back in order.
                keys.reverse();
            }
            let until = match self.limits {
                // A fifth of the remaining time is kept for the metrics, which matter most when SQS hangs.
                Some(limits) => now + limits.settle_until.saturating_sub(now).mul_f64(0.8),
                None => (now + CALL).min(self.worker.settle_until()),
            };
            // One message whose time ends soon must not shorten the call of the others.
            let mut calls: BTreeMap<u32, Call> = BTreeMap::new();
            keys.retain(|&key| {
                let Some((after, time)) = self.entry(kind, key, now) else { return true };
                let until = until.min(time);
                let left = until.saturating_sub(now).as_millis();
                let call = Call { kind, messages: Vec::new(), sent: now, until };
                let call = calls.entry(left.checked_ilog2().unwrap_or_default()).or_insert(call);
                call.messages.push((key, after));
                call.until = call.until.min(until);
                false
            });
            self.outbox.split(calls.len());
            self.commands.extend(calls.into_values().map(Command::Call));
            for lost in keys {
                self.message_answered(kind, lost, false, now);
            }
        }
    }

    /// The visibility timeout for a message that a call is made for now, and when the call must have been answered. `None` if it
    /// must not be made any more.
    fn entry(&mut self, kind: Kind, key: MessageKey, now: Time) -> Option<(Duration, Time)> {
        let until = self.may_call_until(kind, key);
        let message = self.batches.get_mut(&key.batch)?.messages.get_mut(key.at)?;
        let after = message.settled.action.back_after().unwrap_or_default();
        let Some(lease) = message.lease else { return Some((after, Time::MAX)) };
        let margin = if holds(Guard::NoneTooLate) { TOO_LATE } else { Duration::ZERO };
        let until = until.filter(|until| *until > now + margin);
        let until = until.or((!holds(Guard::LostIsLeft)).then_some(Time::MAX))?;
        message.tries += 1;
        let received = self.worker.held.get(&lease).map_or(Time::ZERO, |held| held.received);
        let longest = Duration::from_secs((received + LONGEST).saturating_sub(now).as_secs());
        Some((after.min(longest), until))
    }

    /// Until when SQS may be called for a worker's message: until its lease ends. If an earlier call may have set its visibility
    /// timeout, SQS would set it for whoever receives the message after that: on a standard queue an old receipt handle does.
    fn may_call_until(&self, kind: Kind, key: MessageKey) -> Option<Time> {
        let message = self.message(key)?;
        let until = self.worker.leases.until(message.lease?)?;
        let is_repeat = kind == Kind::Changes && holds(Guard::RepeatWhileHidden);
        let hidden = message.hidden_until.filter(|_| is_repeat);
        Some(hidden.map_or(until, |hidden| until.min(hidden.saturating_sub(MARGIN))))
    }

    /// A call has ended. A worker's deletes and changes that SQS did not confirm are tried again while their leases hold,
    /// unless SQS would refuse them again.
    pub(crate) fn answered(
        &mut self,
        call: &Call,
        answers: &[(MessageKey, Confirmation)],
        took: Duration,
        now: Time,
    ) {
        self.outbox.call_ended();
        for &(key, after) in &call.messages {
            let answer = answers.iter().find(|(known, _)| *known == key).map(|(_, answer)| *answer);
            if let Some(batch) = self.batches.get_mut(&key.batch) {
                batch.called(call.kind, key.at, took, now);
                if call.kind == Kind::Changes && answer.is_none() {
                    batch.messages[key.at].hidden_until.get_or_insert(call.sent + after);
                }
            }
            let is_final = matches!(answer, Some(Confirmation::Done | Confirmation::Refused));
            if is_final || call.kind == Kind::Letters || !self.tries_again(call.kind, key, now) {
                self.message_answered(call.kind, key, answer == Some(Confirmation::Done), now);
            }
        }
    }

    fn tries_again(&mut self, kind: Kind, key: MessageKey, now: Time) -> bool {
        let Some(message) = self.message(key) else { return false };
        let tries = message.tries.saturating_sub(1).min(10);
        let at = now + FIRST_PAUSE.saturating_mul(1 << tries).min(LONGEST_PAUSE);
        // The lease of a message that is to be deleted is extended.
        let until =
            self.may_call_until(kind, key).map(|until| if kind == Kind::Deletes { Time::MAX } else { until });
        let in_time = until.is_some_and(|until| at < until.min(self.worker.settle_until()));
        if in_time {
            self.worker.again.insert((at, key));
        }
        in_time
    }

    /// The call for a message is answered, or was not made because its lease is lost.
    fn message_answered(&mut self, kind: Kind, key: MessageKey, confirmed: bool, now: Time) {
        self.outbox.answered(key);
        let lease = self.message(key).and_then(|message| message.lease);
        if let Some(lease) = lease.filter(|_| confirmed && kind != Kind::Letters) {
            self.worker.leases.forget(lease);
        }
        // A message whose letter is not confirmed is delayed instead.
        let is_left = self.worker.is_ending() && !confirmed && kind != Kind::Letters;
        self.worker.unconfirmed += usize::from(is_left);
        self.with(key.batch, now, |batch, rules| batch.answered(kind, key.at, confirmed, rules));
    }

    /// Extends leases that are due, and gives up those that have ended.
    pub(crate) fn keep_leases(&mut self, now: Time) {
        self.expire_leases(now);
        loop {
            let due = self.worker.leases.due(now);
            if due.is_empty() {
                return;
            }
            self.commands.push_back(Command::Extend(due));
        }
    }

    pub(crate) fn expire_leases(&mut self, now: Time) {
        for lease in self.worker.leases.expired(now) {
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
        let was_failing = std::mem::replace(&mut self.worker.is_extension_failing, answers.is_err());
        match &answers {
            Err(error) if !was_failing => self.note(Note::ExtensionsFail(error.clone())),
            Ok(_) if was_failing => self.note(Note::ExtensionsSucceed),
            Ok(_) | Err(_) => {}
        }
        let answers = answers.unwrap_or_default();
        for &(lease, seconds) in leases {
            let answer = answers.iter().find(|(known, _)| *known == lease);
            match answer.map_or(Extension::Unanswered, |(_, extension)| *extension) {
                Extension::Granted => self.worker.leases.extended(lease, asked, seconds),
                // The delete may have arrived before the extension.
                Extension::Refused if self.is_deleting(lease) => self.worker.leases.not_extended(lease, now),
                Extension::Refused if self.worker.leases.until(lease).is_some() => self.lost(lease, now),
                Extension::Refused => {}
                Extension::Unanswered => self.worker.leases.not_extended(lease, now),
            }
            if let Some(held) = self.worker.held.get_mut(&lease)
                && std::mem::take(&mut held.waits)
                && let Some(key) = held.key
            {
                self.queue(Kind::Changes, key, now);
            }
        }
    }

    /// Whether the call that deletes the message was made, so that the extension of its lease may be refused.
    fn is_deleting(&self, lease: LeaseKey) -> bool {
        let key = self.worker.held.get(&lease).and_then(|held| held.key);
        let message = key.and_then(|key| self.message(key));
        message.is_some_and(|message| message.tries > 0 && message.settled.state == State::Deleting)
    }

    /// The lease of a message is lost.
    fn lost(&mut self, lease: LeaseKey, now: Time) {
        self.worker.leases.forget(lease);
        self.note(Note::LeaseLost);
        let Some(key) = self.worker.held.get(&lease).and_then(|held| held.key) else {
            let behind = self.worker.gathered.remove(lease, self.worker.receiving.is_fifo);
            for behind in behind.into_iter().chain(self.worker.waiting.remove(lease)) {
                self.worker.leases.forget(behind.lease);
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
