//! The calls that write letters, set visibility timeouts and delete messages, and the meaning of their answers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::engine::{Engine, Machine};
use super::keys::MessageKey;
use super::outbox::SettleCall;
use super::{Command, MessageMeta, Time};

/// A call to SQS, which the shell has to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub kind: SettleCall,
    /// The messages, each with its visibility timeout if the call sets it.
    pub messages: Vec<(MessageKey, Duration)>,
    pub sent: Time,
    /// The time by which it must have been answered, with all its tries.
    pub until: Time,
}

/// The answer of SQS for a message of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    Done,
    /// SQS would refuse it again.
    Refused,
    /// It was not done, and may succeed if it is sent again.
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

impl<F: MessageMeta, M: Machine<F>> Engine<'_, F, M> {
    /// Settles a message by the call that its state waits for.
    pub(crate) fn ask(&mut self, key: MessageKey, now: Time) {
        let kind = self.message(key).and_then(|message| message.settled.state.call());
        if let Some(kind) = kind {
            M::settle(self, kind, key, now);
        }
    }

    pub(crate) fn queue(&mut self, kind: SettleCall, key: MessageKey, now: Time) {
        if let Some(batch) = self.batches.get(&key.batch) {
            self.outbox.add(kind, key, batch.lane_of(key.at), now);
        }
    }

    /// Makes the calls that are due.
    pub(crate) fn call(&mut self, now: Time) {
        let flush = M::flushes(self);
        while let Some((kind, mut keys)) = self.outbox.next_call(now, flush) {
            M::arrange(self, &mut keys);
            // One message whose time ends soon must not shorten the call of the others.
            let mut calls: BTreeMap<u32, Call> = BTreeMap::new();
            keys.retain(|&key| {
                let Some((after, until)) = M::entry(self, kind, key, now) else { return true };
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

    /// Handles the end of a call. A worker's deletes and changes that SQS did not confirm are tried again while their leases
    /// hold, unless SQS would refuse them again.
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
                if call.kind == SettleCall::ChangeVisibility && answer.is_none() {
                    batch.messages[key.at].hidden_until.get_or_insert(call.sent + after);
                }
            }
            let is_final = matches!(answer, Some(Confirmation::Done | Confirmation::Refused));
            if is_final || call.kind == SettleCall::DeadLetter || !M::tries_again(self, call.kind, key, now) {
                self.message_answered(call.kind, key, answer == Some(Confirmation::Done), now);
            }
        }
    }

    /// Handles the answer to the call for a message, or that it was not made because its lease is lost.
    pub(crate) fn message_answered(&mut self, kind: SettleCall, key: MessageKey, confirmed: bool, now: Time) {
        self.outbox.answered(key);
        M::answered(self, kind, key, confirmed);
        self.with(key.batch, now, |batch, context| batch.answered(kind, key.at, confirmed, context));
    }
}
