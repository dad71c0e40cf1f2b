//! Letters, visibility timeouts and deletes: which call is due, and what its answer means. A worker's calls end with the
//! leases of their messages, and are made again while those hold.

use std::time::Duration;

use super::batch::Phase;
use super::guards::{Guard, holds};
use super::keys::{GroupKey, LeaseKey, MessageKey};
use super::outbox::Kind;
use super::settled::{Ran, State};
use super::{Command, Engine, Facts, Note, Time};
use redrive_sqs::lease::{LONGEST, Standing};

/// How long a worker's call and its tries may take.
const CALL: Duration = Duration::from_secs(5);
/// With less time left on a lease no call is made, which would have to be answered by then.
const TOO_LATE: Duration = Duration::from_millis(50);
/// The first pause before a call is made again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A call to SQS, which the shell has to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    /// Each with its visibility timeout if that is to be set.
    pub(crate) messages: Vec<(MessageKey, Duration)>,
    /// The groups of its letters.
    pub(super) groups: Vec<GroupKey>,
    /// When it must have been answered, with all its tries.
    pub(crate) until: Time,
}

/// The answer to the extension of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extension {
    Granted,
    /// The message is deleted, or visible.
    Refused,
    Unanswered,
}

impl<F: Facts> Engine<'_, F> {
    /// A message is to be settled.
    pub(super) fn ask(&mut self, key: MessageKey, now: Time) {
        let Some(message) = self.batches.get(&key.batch).and_then(|batch| batch.messages.get(key.at)) else {
            return;
        };
        let (Some(kind), lease) = (kind_of(message.settled.state), message.lease) else { return };
        let Some((worker, lease)) = self.worker.as_mut().zip(lease) else {
            if self.has_client {
                self.queue(key, now);
            } else {
                self.with(key.batch, now, |batch, _| batch.leave(key.at));
            }
            return;
        };
        let standing = match kind {
            // Its lease is extended until its delete.
            Kind::Letters if worker.leases.until(lease).is_some() => Standing::Held,
            Kind::Letters => Standing::Lost,
            Kind::Deletes | Kind::Changes => worker.leases.settle(lease),
        };
        worker.asked(lease);
        match standing {
            Standing::Lost if holds(Guard::LostIsLeft) => {
                self.message_answered(kind, key, false, Duration::ZERO, now)
            }
            // An extension that comes after a delete undoes nothing.
            Standing::Extending if kind == Kind::Changes && holds(Guard::DelayWaits) => {
                worker.waiting.insert(lease, key);
            }
            Standing::Extending | Standing::Held | Standing::Lost => self.queue(key, now),
        }
    }

    fn queue(&mut self, key: MessageKey, now: Time) {
        let group = self.group_of(key);
        if let Some(kind) = self.message(key).and_then(|(_, settled)| kind_of(settled.state)) {
            self.outbox.add(kind, key, group, now);
        }
    }

    /// Makes the calls that are due.
    pub(super) fn call(&mut self, now: Time) {
        if let Some(worker) = &mut self.worker {
            for key in worker.tried_again(now) {
                self.queue(key, now);
            }
        }
        let flush = match &self.worker {
            Some(worker) => worker.is_fifo || worker.is_ending(),
            None => self.batches.values().all(|batch| batch.running == 0 || batch.phase == Phase::Over),
        };
        while let Some((kind, mut keys)) = self.outbox.next_call(now, flush) {
            let groups = match kind {
                Kind::Letters => keys.iter().map(|&key| self.group_of(key)).collect(),
                Kind::Deletes | Kind::Changes => Vec::new(),
            };
            if self.worker.as_ref().is_some_and(|worker| worker.is_fifo) && holds(Guard::TailFirst) {
                // The end of a group first, so that its messages come back in order.
                keys.reverse();
            }
            let until = match &self.worker {
                Some(worker) => (now + CALL).min(worker.settle_until().unwrap_or(Time::MAX)),
                // A fifth of the remaining time is kept for the metrics, which matter most when SQS hangs.
                None => now + self.settle_until.saturating_sub(now).mul_f64(0.8),
            };
            let mut call = Call { kind, messages: Vec::with_capacity(keys.len()), groups, until };
            let lost: Vec<_> = keys.into_iter().filter(|&key| !self.add(key, &mut call, now)).collect();
            if call.messages.is_empty() {
                self.outbox.answered(&call.groups);
            } else {
                self.commands.push_back(Command::Call(call));
            }
            for key in lost {
                self.message_answered(kind, key, false, Duration::ZERO, now);
            }
        }
    }

    /// Adds a message to a call, unless its lease is lost.
    fn add(&mut self, key: MessageKey, call: &mut Call, now: Time) -> bool {
        let Some(message) = self.batches.get_mut(&key.batch).and_then(|batch| batch.messages.get_mut(key.at))
        else {
            return false;
        };
        let mut after = message.settled.action.back_after().unwrap_or_default();
        if let Some((worker, lease)) = self.worker.as_ref().zip(message.lease) {
            let margin = if holds(Guard::NoneTooLate) { TOO_LATE } else { Duration::ZERO };
            let until = worker.leases.until(lease).filter(|until| *until > now + margin);
            let Some(until) = until.or((!holds(Guard::LostIsLeft)).then_some(call.until)) else {
                return false;
            };
            after = after.min((worker.received(lease) + LONGEST).saturating_sub(now));
            call.until = call.until.min(until);
            message.tries += 1;
        }
        call.messages.push((key, after));
        true
    }

    /// A call has ended. A worker's deletes and changes that SQS did not confirm are tried again while their leases hold.
    pub(super) fn answered(&mut self, call: &Call, confirmed: &[MessageKey], took: Duration, now: Time) {
        self.outbox.answered(&call.groups);
        for &(key, _) in &call.messages {
            let is_confirmed = confirmed.contains(&key);
            if !is_confirmed && call.kind != Kind::Letters && self.tries_again(key, now) {
                continue;
            }
            self.message_answered(call.kind, key, is_confirmed, took, now);
        }
    }

    fn tries_again(&mut self, key: MessageKey, now: Time) -> bool {
        let message = self.batches.get(&key.batch).and_then(|batch| batch.messages.get(key.at));
        let Some((worker, message)) = self.worker.as_mut().zip(message) else { return false };
        let Some(until) = message.lease.and_then(|lease| worker.leases.until(lease)) else { return false };
        let tries = message.tries.saturating_sub(1).min(10);
        let at = now + FIRST_PAUSE.saturating_mul(1 << tries).min(LONGEST_PAUSE);
        let in_time = at < until && worker.settle_until().is_none_or(|last| at < last);
        if in_time {
            worker.again.insert((at, key));
        }
        in_time
    }

    /// Whatever SQS was asked for a message is answered.
    fn message_answered(&mut self, kind: Kind, key: MessageKey, confirmed: bool, took: Duration, now: Time) {
        let Some(batch) = self.batches.get(&key.batch) else { return };
        let call = Ran { took, ended: now.saturating_sub(batch.began), is_shared: false };
        if let Some(worker) = &mut self.worker {
            let lease = batch.messages[key.at].lease;
            if let Some(lease) = lease
                && confirmed
                && kind != Kind::Letters
            {
                worker.leases.forget(lease);
            }
            worker.answered(kind, confirmed);
        }
        self.with(key.batch, now, |batch, rules| batch.answered(kind, key.at, confirmed, call, rules));
    }

    /// Extends leases that are due, and gives up those that have ended.
    pub(super) fn keep_leases(&mut self, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        for lease in worker.leases.expired(now) {
            self.lost(lease, now);
        }
        let Some(worker) = &mut self.worker else { return };
        loop {
            let due = worker.leases.due(now);
            if due.is_empty() {
                return;
            }
            self.commands.push_back(Command::Extend(due));
        }
    }

    pub(super) fn extended(
        &mut self,
        asked: Time,
        leases: &[(LeaseKey, u64)],
        answers: Option<Vec<(LeaseKey, Extension)>>,
        now: Time,
    ) {
        let Some(worker) = &mut self.worker else { return };
        let is_failing = answers.is_none();
        if std::mem::replace(&mut worker.is_extension_failing, is_failing) != is_failing {
            let note = if is_failing { Note::ExtensionsFail } else { Note::ExtensionsSucceed };
            self.commands.push_back(Command::Note(note));
        }
        let answers = answers.unwrap_or_default();
        for &(lease, seconds) in leases {
            let answer = answers.iter().find(|(known, _)| *known == lease);
            let deletes = self.is_deleting(lease);
            let Some(worker) = &mut self.worker else { return };
            match answer.map_or(Extension::Unanswered, |(_, extension)| *extension) {
                Extension::Granted => worker.leases.extended(lease, asked, seconds),
                // The delete that was on its way may have arrived before.
                Extension::Refused if deletes => worker.leases.not_extended(lease, now),
                Extension::Refused if worker.leases.until(lease).is_some() => self.lost(lease, now),
                Extension::Refused => {}
                Extension::Unanswered => worker.leases.not_extended(lease, now),
            }
            if let Some(key) = self.worker.as_mut().and_then(|worker| worker.waiting.remove(&lease)) {
                self.queue(key, now);
            }
        }
    }

    /// Whether the call that deletes the message was made, so that the extension of its lease may be refused.
    fn is_deleting(&self, lease: LeaseKey) -> bool {
        let key = self.worker.as_ref().and_then(|worker| worker.message_of(lease));
        let message =
            key.and_then(|key| self.batches.get(&key.batch).and_then(|batch| batch.messages.get(key.at)));
        message.is_some_and(|message| message.tries > 0 && message.settled.state == State::Deleting)
    }

    /// The lease of a message is lost.
    pub(super) fn lost(&mut self, lease: LeaseKey, now: Time) {
        let Some(worker) = &mut self.worker else { return };
        worker.leases.forget(lease);
        self.commands.push_back(Command::Note(Note::LeaseLost));
        let Some(key) = worker.message_of(lease) else {
            worker.drop_gathered(lease);
            self.commands.push_back(Command::Forget(lease));
            return;
        };
        let mut all_are_lost = false;
        self.with(key.batch, now, |batch, _| all_are_lost = batch.lost(key.at));
        if all_are_lost {
            self.cancel(key.batch, now);
        }
    }
}

/// The call that a message in this state waits for.
pub(super) const fn kind_of(state: State) -> Option<Kind> {
    match state {
        State::Writing => Some(Kind::Letters),
        State::Delaying => Some(Kind::Changes),
        State::Deleting => Some(Kind::Deletes),
        _ => None,
    }
}
