//! Letters on their way back.

use std::sync::PoisonError;

use redrive_sqs::{Lanes, MAX_ENTRIES, Turn};

use super::super::letter::Letter;
use super::super::retry::{Edited, NoEditor, Outgoing};
use super::calls::{self, Failed};
use super::ledger::Why;
use super::work::{Deletable, Role};
use super::{Deed, Route, Sweep};

impl Sweep<'_> {
    /// At a low rate, few at a time: no letter stays undeleted while others wait for their turn.
    pub(super) async fn send_at_the_rate(
        &self,
        letters: Vec<Letter>,
        mut done: Vec<Deletable>,
        route: &Route,
    ) -> Vec<Deletable> {
        let most = self.pace.most_at_once(MAX_ENTRIES);
        let mut letters = letters.into_iter().peekable();
        loop {
            let mut batch = Vec::new();
            for letter in letters.by_ref().take(most) {
                match self.group(&letter).is_some_and(|group| self.ledger().is_stopped(group)) {
                    true => self.leave(&letter, Why::BehindInGroup),
                    false => batch.push(letter),
                }
            }
            done.extend(self.send(batch, route).await);
            if letters.peek().is_none() {
                return done;
            }
            self.delete(std::mem::take(&mut done)).await;
        }
    }

    /// Sends what can be sent, and gives back what is to be deleted.
    pub(super) async fn send(&self, letters: Vec<Letter>, route: &Route) -> Vec<Deletable> {
        let mut ready = Vec::new();
        for letter in letters {
            if let Some(outgoing) = self.prepare(&letter, route).await {
                ready.push((letter, outgoing));
            }
        }
        self.send_as(ready, route).await
    }

    /// Sends letters as these messages, and gives back what is to be deleted.
    pub(super) async fn send_as(&self, ready: Vec<(Letter, Outgoing)>, route: &Route) -> Vec<Deletable> {
        let turn = |(letter, outgoing): &(Letter, Outgoing)| Turn {
            group: self.group(letter).map(str::to_owned),
            size: outgoing.size(),
        };
        let mut lanes = Lanes::new(ready.iter().map(turn).collect());
        let mut sent: Vec<Option<Option<String>>> = ready.iter().map(|_| None).collect();
        let leave = |index: usize, why: Why| {
            self.ledger().give_up(&ready[index].0, self.group(&ready[index].0));
            self.story.left(&ready[index].0, why);
        };
        loop {
            let batch = lanes.next_batch();
            if batch.is_empty() {
                break;
            }
            let is_turn = tokio::select! {
                biased;
                () = self.pace.wait(batch.len()) => true,
                () = self.hold.stopped() => false,
            };
            if !is_turn || self.has_fatal() {
                batch.into_iter().for_each(|index| leave(index, Why::Interrupted));
                continue;
            }
            let entries = batch.into_iter().map(|index| (index, &ready[index].0, &ready[index].1));
            let entries: Vec<_> = entries.collect();
            self.hold.sending(entries.iter().map(|(_, letter, _)| letter.id.as_str()));
            let answers = calls::send(&self.sqs, &route.to.url, &entries, &self.terms(true)).await;
            for (index, id) in answers.done {
                let (letter, outgoing) = &ready[index];
                self.ledger().done(letter, id.as_deref());
                if !outgoing.has_origin {
                    self.story.without_origin(letter);
                }
                sent[index] = Some(id);
            }
            for (index, failed) in answers.failed {
                let letter = &ready[index].0;
                self.ledger().give_up(letter, self.group(letter));
                self.story.failed(letter, Deed::Send, &failed);
                self.hold.settled([letter.id.as_str()]);
                lanes.stop_behind(index).into_iter().for_each(|index| leave(index, Why::BehindInGroup));
            }
            if let Some(fatal) = answers.fatal {
                self.fail(fatal);
            }
        }
        let ready = ready.into_iter().map(|(letter, _)| letter);
        let sent = ready.zip(sent).filter_map(|(letter, id)| Some((letter, id?)));
        sent.map(|(letter, id)| Deletable { letter, role: Role::Sent(id) }).collect()
    }

    /// What goes out for a letter, or nothing, and then it is told why.
    async fn prepare(&self, letter: &Letter, route: &Route) -> Option<Outgoing> {
        let failed = |reason: String| {
            self.ledger().give_up(letter, self.group(letter));
            self.story.failed(letter, Deed::Send, &Failed { reason, perhaps_done: false });
        };
        let outgoing = match Outgoing::new(letter, route.destination()) {
            Ok(outgoing) => outgoing,
            Err(reason) => {
                failed(reason);
                return None;
            }
        };
        let Some(editor) = &route.editor else { return Some(outgoing) };
        let left = |why: Why| {
            self.ledger().give_up(letter, self.group(letter));
            self.story.left(letter, why);
        };
        if self.has_fatal() {
            left(Why::Interrupted);
            return None;
        }
        match editor.edit(&letter.id, &outgoing, route.destination(), self.hold).await {
            Ok(Edited::Changed(outgoing)) => Some(*outgoing),
            Ok(Edited::Unchanged) => {
                left(Why::Unchanged);
                None
            }
            Ok(Edited::Stopped) => {
                left(Why::Interrupted);
                None
            }
            Err(error) if error.is::<NoEditor>() => {
                left(Why::Interrupted);
                self.fail(error);
                None
            }
            Err(error) => {
                failed(format!("{error:#}"));
                None
            }
        }
    }

    fn has_fatal(&self) -> bool {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
