//! What is done with the letters of one receive.

use std::sync::PoisonError;

use redrive_sqs::MAX_ENTRIES;

use super::super::letter::Letter;
use super::calls::{self, Terms};
use super::ledger::{Verdict, Why};
use super::{Deed, Doing, Route, Sweep};

/// A letter that was sent or need not be, and so can be deleted.
pub(super) struct Deletable {
    pub(super) letter: Letter,
    pub(super) role: Role,
}

pub(super) enum Role {
    /// With the message id under which it was sent.
    Sent(Option<String>),
    /// Deleted because it was asked for.
    Unwanted,
    Duplicate,
}

impl Sweep<'_> {
    /// Receives until the run is over.
    pub(super) async fn work(&self) {
        while !self.is_stopping() && !self.is_over() {
            let most = self.at_once();
            tokio::select! {
                () = self.pace.wait(0) => (),
                () = self.hold.stopped() => return,
            }
            let mut letters = match self.hold.receive(most, |line| self.story.say(line)).await {
                Ok(letters) => letters,
                Err(error) => return self.fail(error),
            };
            letters.iter_mut().for_each(|letter| letter.max_receive_count = self.order.max_receive_count);
            self.story.looked_at(letters.len());
            match &self.order.deed {
                Doing::Ask(_) => self.ask(letters).await,
                Doing::Send(_) | Doing::Delete => self.batch(letters).await,
            }
        }
    }

    fn is_over(&self) -> bool {
        let ledger = self.ledger();
        ledger.scope.is_over() || ledger.room() == 0 || self.order.selection.is_complete()
    }

    /// One where somebody looks at each; else ten, or fewer where fewer may be done and each is wanted.
    fn at_once(&self) -> usize {
        let room = usize::try_from(self.ledger().room()).unwrap_or(usize::MAX);
        match &self.order.deed {
            Doing::Send(Route { editor: Some(_), .. }) => 1,
            Doing::Send(_) | Doing::Delete | Doing::Ask(_) if self.order.selection.is_all() => {
                self.pace.most_at_once(MAX_ENTRIES.min(room)).max(1)
            }
            Doing::Send(_) | Doing::Delete | Doing::Ask(_) => MAX_ENTRIES,
        }
    }

    pub(super) async fn batch(&self, letters: Vec<Letter>) {
        let (received, mut new) = (letters.len(), 0);
        let (mut wanted, mut twins, mut done) = (Vec::new(), Vec::new(), Vec::new());
        for letter in letters {
            let verdict = self.ledger().judge(&letter, self.group(&letter), self.wanted(&letter));
            new += usize::from(verdict != Verdict::Again);
            match verdict {
                Verdict::Wanted if self.order.dry_run => {
                    self.ledger().done(&letter, None);
                    self.story.would(&letter, letter.group());
                }
                Verdict::Wanted => wanted.push(letter),
                Verdict::Duplicate if self.order.dry_run => self.story.duplicate(&letter),
                Verdict::Duplicate => done.push(Deletable { letter, role: Role::Duplicate }),
                Verdict::Twin => twins.push(letter),
                Verdict::Left(why) => {
                    self.story.left(&letter, why);
                    if why == Why::BehindInGroup && self.order.selection.names(&letter) {
                        self.story.named_but_left(&letter, why);
                    }
                }
                Verdict::Again => (),
            }
        }
        self.ledger().scope.received(received, new);
        match &self.order.deed {
            Doing::Send(route) => done = self.send_at_the_rate(wanted, done, route).await,
            Doing::Delete => {
                for letter in wanted {
                    self.ledger().done(&letter, None);
                    done.push(Deletable { letter, role: Role::Unwanted });
                }
            }
            Doing::Ask(triage) => self.ask_about(wanted, triage).await,
        }
        for letter in twins {
            match self.ledger().is_done(&letter) {
                true => done.push(Deletable { letter, role: Role::Duplicate }),
                false => self.twins.lock().unwrap_or_else(PoisonError::into_inner).push(letter),
            }
        }
        self.delete(done).await;
    }

    /// Deletes those of the twins whose other was sent.
    pub(super) async fn settle_twins(&self) {
        let twins = std::mem::take(&mut *self.twins.lock().unwrap_or_else(PoisonError::into_inner));
        let (done, open): (Vec<_>, Vec<_>) =
            twins.into_iter().partition(|letter| self.ledger().is_done(letter));
        open.iter().for_each(|letter| self.story.left(letter, Why::TwinFailed));
        let mut done = done.into_iter().peekable();
        while done.peek().is_some() {
            let batch = done.by_ref().take(MAX_ENTRIES);
            self.delete(batch.map(|letter| Deletable { letter, role: Role::Duplicate }).collect()).await;
        }
    }

    /// The group, where order matters: what is deleted overtakes nobody.
    pub(super) fn group<'letter>(&self, letter: &'letter Letter) -> Option<&'letter str> {
        let deletes = matches!(self.order.deed, Doing::Delete);
        letter.group().filter(|_| self.order.from.is_fifo() && !deletes)
    }

    fn wanted(&self, letter: &Letter) -> Result<(), Why> {
        if let Some(route) = self.order.deed.route()
            && !route.named
            && letter.source().is_some_and(|source| source != route.to.arn)
        {
            return Err(Why::OfAnotherQueue);
        }
        match self.order.selection.wants(letter, self.began) {
            true => Ok(()),
            false => Err(Why::NotWanted),
        }
    }

    /// Deletes, with the newest handles.
    pub(super) async fn delete(&self, letters: Vec<Deletable>) {
        let mut letters = letters;
        for Deletable { letter, .. } in &mut letters {
            if let Some(handle) = self.hold.handle(&letter.id) {
                letter.handle = handle;
            }
        }
        let entries: Vec<_> = letters.iter().enumerate().map(|(index, done)| (index, &done.letter)).collect();
        if entries.is_empty() {
            return;
        }
        let unsent = letters.iter().all(|done| matches!(done.role, Role::Unwanted));
        let answers = calls::delete(&self.sqs, &self.order.from.url, &entries, &self.terms(unsent)).await;
        for (index, _) in answers.done {
            let Deletable { letter, role } = &letters[index];
            let was_held = self.hold.holds(&letter.id);
            self.hold.forget([letter.id.as_str()]);
            match role {
                Role::Sent(id) if was_held => self.story.sent(letter, id.as_deref()),
                Role::Sent(id) => self.story.perhaps_taken(letter, id.as_deref()),
                Role::Unwanted => self.story.deleted(letter),
                Role::Duplicate => self.story.duplicate(letter),
            }
        }
        for (index, failed) in answers.failed {
            let Deletable { letter, role } = &letters[index];
            match role {
                Role::Sent(id) => self.story.possible_duplicate(letter, id.as_deref(), &failed),
                Role::Duplicate => self.story.possible_duplicate(letter, None, &failed),
                Role::Unwanted => self.story.failed(letter, Deed::Delete, &failed),
            }
        }
        self.hold.settled(letters.iter().map(|done| done.letter.id.as_str()));
        if let Some(fatal) = answers.fatal {
            self.fail(fatal);
        }
    }

    pub(super) fn terms(&self, stops: bool) -> Terms<'_> {
        Terms { pace: &self.pace, hold: self.hold, stops }
    }
}
