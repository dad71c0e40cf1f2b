//! Carries out calls by the rules of queues, and checks what must hold for each.

use std::sync::Arc;
use std::time::Duration;

use redrive_local::rules::Received;
use redrive_local::{NewMessage, QueueEvent};

use super::Bounds;
use super::world::{Answer, Checked, Fact, Left, SqsRequest, World, at, names};
use crate::{Extension, SettleCall};

impl World {
    /// Carries out a call.
    pub(super) fn act(
        &mut self,
        who: usize,
        what: &SqsRequest,
        most: Option<usize>,
        skipped: Option<usize>,
    ) -> Checked<Answer> {
        match what {
            SqsRequest::Settle { call, facts } => {
                let mut confirmed = Vec::new();
                for (entry, (fact, &(key, after))) in facts.iter().zip(&call.messages).enumerate() {
                    let is_done = skipped != Some(entry)
                        && match call.kind {
                            SettleCall::DeadLetter => self.write_letter(who, fact, facts)?,
                            SettleCall::Delete => self.delete(fact)?,
                            SettleCall::ChangeVisibility => self.delay(fact, after)?,
                        };
                    confirmed.extend(is_done.then_some(key));
                }
                self.look_at_queue();
                Ok(Answer::Settlement(confirmed))
            }
            SqsRequest::Extend { leases, facts, .. } => {
                let mut answers = Vec::new();
                for (entry, (fact, &(lease, seconds))) in facts.iter().zip(leases).enumerate() {
                    if skipped == Some(entry) {
                        continue;
                    }
                    let is_granted = self.extend(fact, seconds)?;
                    answers.push((lease, if is_granted { Extension::Granted } else { Extension::Refused }));
                }
                self.look_at_queue();
                Ok(Answer::Extended(answers))
            }
            SqsRequest::Receive(poll) => {
                let most = most.unwrap_or(poll.messages);
                let brought = self.receive(most, self.bounds.visibility)?;
                Ok(Answer::Received(brought.into_iter().map(|(_, fact)| fact).collect()))
            }
        }
    }

    /// Checks that the letter of a message may be written: not before or beside that of an earlier one in its group.
    pub(super) fn may_write(&self, who: usize, fact: &Fact, together: &[Arc<Fact>]) -> Checked {
        let is_of_group = |it: &&Arc<Fact>| {
            let is_held = self.histories[it.message].leases[it.attempt as usize] > self.now;
            is_held && it.group.is_some() && it.group == fact.group && it.message < fact.message
        };
        if let Some(earlier) = together.iter().find(is_of_group) {
            return Err(format!(
                "one call has the letters of m{} and m{}",
                earlier.message + 1,
                fact.message + 1
            ));
        }
        for call in &self.consumers[who].calls {
            if let SqsRequest::Settle { call, facts } = &call.what
                && call.kind == SettleCall::DeadLetter
                && let Some(earlier) = facts.iter().find(is_of_group)
            {
                let (later, earlier) = (fact.message + 1, earlier.message + 1);
                return Err(format!(
                    "the letter of m{later} is written while that of m{earlier} is under way"
                ));
            }
        }
        Ok(())
    }

    fn write_letter(&mut self, who: usize, fact: &Fact, together: &[Arc<Fact>]) -> Checked<bool> {
        self.may_write(who, fact, together)?;
        self.send_letter(fact)?;
        Ok(true)
    }

    fn send_letter(&mut self, fact: &Fact) -> Checked {
        let message = NewMessage {
            body: "tea".to_owned(),
            group_id: fact.group.map(str::to_owned),
            deduplication_id: fact.group.map(|_| self.ids[fact.message].clone()),
            ..NewMessage::default()
        };
        let (dead, now) = (names(self.bounds).1, at(self.now));
        self.queues().send(dead, message, now).map_err(|it| it.to_string())?;
        // A duplicate is not an event.
        if !self.queues().take_events().is_empty() {
            self.is_in_dead_letter_queue(fact.message)?;
        }
        Ok(())
    }

    pub(super) fn is_in_dead_letter_queue(&mut self, message: usize) -> Checked {
        let history = &mut self.histories[message];
        history.letters += 1;
        let is_excused = history.has_lost_letter || history.ran_out;
        if !is_excused && history.letters > 1 {
            return Err(format!("m{} has two letters", message + 1));
        }
        if !is_excused && history.is_done {
            return Err(format!("m{} is done, and has a letter", message + 1));
        }
        Ok(())
    }

    /// Checks that a message may be deleted or delayed.
    pub(super) fn may_settle(&self, fact: &Fact, what: &str) -> Checked {
        if self.histories[fact.message].leases[fact.attempt as usize] <= self.now {
            return Err(format!("m{} is {what} although its lease is lost", fact.message + 1));
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, fact: &Fact) -> Checked<bool> {
        self.may_settle(fact, "deleted")?;
        self.delete_now(fact)
    }

    fn delete_now(&mut self, fact: &Fact) -> Checked<bool> {
        let (source, now) = (names(self.bounds).0, at(self.now));
        let deleted = self.queues().delete(source, &fact.handle, now);
        if !self.queues().take_events().is_empty() {
            self.is_deleted(fact.message)?;
        }
        Ok(deleted.is_ok())
    }

    pub(super) fn is_deleted(&mut self, message: usize) -> Checked {
        self.histories[message].is_gone = true;
        self.say(|_| format!("m{} is deleted", message + 1));
        if self.is_proven(message) {
            Ok(())
        } else {
            Err(format!("m{} is deleted, and is not over", message + 1))
        }
    }

    pub(super) fn delay(&mut self, fact: &Fact, after: Duration) -> Checked<bool> {
        self.may_settle(fact, "delayed")?;
        let (source, now) = (names(self.bounds).0, at(self.now));
        let is_delayed = self.queues().change_visibility(source, &fact.handle, after, now).is_ok();
        self.queues().take_events();
        if is_delayed {
            self.is_delayed(fact, after);
        }
        Ok(is_delayed)
    }

    /// Notes that other consumers may have the message from then on.
    pub(super) fn is_delayed(&mut self, fact: &Fact, after: Duration) {
        let now = self.now;
        let history = &mut self.histories[fact.message];
        history.is_delayed[fact.attempt as usize] = true;
        history.leases[fact.attempt as usize] = now + after;
    }

    /// Carries out a call after its caller has given up, or a second time. No caller can prevent that this is too late for
    /// the message, but it must never delete one that is not over.
    pub(super) fn arrives(&mut self, stray: usize) -> Checked {
        match self.strays.remove(stray) {
            SqsRequest::Settle { call, facts } => {
                for (fact, &(_, after)) in facts.iter().zip(&call.messages) {
                    match call.kind {
                        SettleCall::DeadLetter => self.send_letter(fact)?,
                        SettleCall::Delete => drop(self.delete_now(fact)?),
                        SettleCall::ChangeVisibility => self.hide_late(fact, after),
                    }
                }
            }
            SqsRequest::Extend { leases, facts, .. } => {
                for (fact, (_, seconds)) in facts.iter().zip(leases) {
                    self.hide_late(fact, Duration::from_secs(seconds));
                }
            }
            // Nobody has the messages that it returns.
            SqsRequest::Receive(poll) => drop(self.receive(poll.messages, self.bounds.visibility)?),
        }
        self.look_at_queue();
        Ok(())
    }

    /// Changes the visibility timeout of a message that another consumer has, as an old receipt handle does on a standard queue.
    fn hide_late(&mut self, fact: &Fact, after: Duration) {
        let (source, now) = (names(self.bounds).0, at(self.now));
        let is_done = self.queues().change_visibility(source, &fact.handle, after, now).is_ok();
        self.queues().take_events();
        if is_done {
            let until = self.now + after;
            let history = &mut self.histories[fact.message];
            let is_late = fact.attempt as usize != history.deliveries;
            let held = &mut history.leases[history.deliveries];
            *held = if is_late { until.max(*held) } else { until };
            history.ran_out |= is_late;
            history.is_copied |= is_late;
        }
    }

    /// Makes a message visible that a consumer has.
    pub(super) fn duplicate(&mut self, message: usize) {
        self.left.duplicates -= 1;
        let (source, now) = (names(self.bounds).0, at(self.now));
        let handle = self.histories[message].handle.clone();
        let _ = self.queues().change_visibility(source, &handle, Duration::ZERO, now);
        self.queues().take_events();
        (self.histories[message].ran_out, self.histories[message].is_copied) = (true, true);
        self.look_at_queue();
    }

    /// Checks that the lease of a message may be extended.
    pub(super) fn may_extend(&self, fact: &Fact) -> Checked {
        if self.histories[fact.message].is_delayed[fact.attempt as usize] {
            return Err(format!("the extension of m{} undoes its delay", fact.message + 1));
        }
        Ok(())
    }

    fn extend(&mut self, fact: &Fact, seconds: u64) -> Checked<bool> {
        self.may_extend(fact)?;
        let (source, now) = (names(self.bounds).0, at(self.now));
        let length = Duration::from_secs(seconds);
        let is_granted = self.queues().change_visibility(source, &fact.handle, length, now).is_ok();
        self.queues().take_events();
        if is_granted {
            self.histories[fact.message].leases[fact.attempt as usize] = self.now + length;
        }
        Ok(is_granted)
    }

    pub(super) fn receive(
        &mut self,
        most: usize,
        visibility: Duration,
    ) -> Checked<Vec<(Received, Arc<Fact>)>> {
        let (source, now) = (names(self.bounds).0, at(self.now));
        let received = self.queues().receive(source, most, Some(visibility), now);
        let brought = received.map_err(|error| error.to_string())?;
        for event in self.queues().take_events() {
            let QueueEvent::Moved { message_id, .. } = event else { continue };
            let message = self.message_of(&message_id);
            self.comes_back(message)?;
            self.histories[message].is_gone = true;
            self.say(|_| format!("m{} goes to the dead-letter queue by the redrive policy", message + 1));
            self.is_in_dead_letter_queue(message)?;
        }
        let mut messages = Vec::new();
        for brought in brought {
            let message = self.message_of(&brought.message_id);
            self.comes_back(message)?;
            let attempt = brought.receive_count;
            let history = &mut self.histories[message];
            history.deliveries += 1;
            history.leases[attempt as usize] = self.now + visibility;
            history.handle.clone_from(&brought.receipt_handle);
            let group = self.bounds.is_fifo.then_some(self.bounds.groups[message]);
            let fact = Fact { message, attempt, group, handle: brought.receipt_handle.clone() };
            self.say(|_| format!("m{} is received, delivery {attempt}", message + 1));
            messages.push((brought, Arc::new(fact)));
        }
        self.look_at_queue();
        Ok(messages)
    }

    /// Notes that a message is visible again, if it was received before.
    pub(super) fn comes_back(&mut self, message: usize) -> Checked {
        let history = &mut self.histories[message];
        if history.deliveries > 0 && !history.is_delayed[history.deliveries] {
            history.ran_out = true;
            let Bounds { losses, kills, signals, deaf, duplicates, strays, .. } = *self.bounds;
            if self.left == (Left { losses, kills, signals, deaf, duplicates, strays, ..self.left }) {
                return Err(format!("the lease of m{} ran out, and nothing went wrong", message + 1));
            }
        }
        Ok(())
    }

    pub(super) fn message_of(&self, id: &str) -> usize {
        self.ids.iter().position(|it| it == id).expect("a message of ours")
    }

    pub(super) fn is_proven(&self, message: usize) -> bool {
        self.histories[message].is_done || self.histories[message].letters > 0
    }

    pub(super) fn look_at_queue(&mut self) {
        let source = names(self.bounds).0;
        let now = at(self.now);
        self.is_receivable = self.queues().has_receivable(source, now);
    }
}
