//! Handles the letters of one receive.

use futures_util::future::join;
use redrive_sqs::MAX_ENTRIES;

use super::Run;
use crate::journal::Attempt;
use crate::letters::condition::Verdict;
use crate::letters::copies::Copies;
use crate::letters::letter::Letter;
use crate::letters::letter_run::{Choice, Decider, Mode, Operation, Route, Work};
use crate::letters::report::{Report, as_id};
use crate::letters::tracker::{Decision, LeftReason};
use crate::sqs::{Outcome, Step, delete};

/// A letter that can be deleted, because it was sent or need not be.
#[derive(Debug)]
pub(super) struct Deletable {
    pub(super) letter: Letter,
    pub(super) role: Role,
}

#[derive(Debug)]
pub(super) enum Role {
    /// It was sent under this message id, after the attempt `before` of an earlier run, if there was one.
    Sent {
        sent_as: Option<String>,
        before: Option<String>,
    },
    /// It was selected for deletion.
    Unwanted,
    Duplicate,
    /// An earlier run has sent it under this id.
    AlreadySent(Option<String>),
    /// It was deleted before, or should have been, and was received again.
    Repeated,
}

impl Run<'_> {
    /// Receives until the run is over.
    pub(super) async fn work(&self) {
        while !self.is_stopping() && !self.is_over() {
            let most = self.at_once();
            tokio::select! {
                () = self.pace.wait(0) => (),
                () = self.lease.stopped() => return,
            }
            let letters = match self.lease.receive(most, |line| self.state().reporter.print_line(line)).await
            {
                Ok(letters) => Letter::all(letters, self.job.max_receive_count),
                Err(error) => return self.fail(error),
            };
            let senders = self.job.origin_senders.as_ref();
            let letters: Vec<_> = letters.into_iter().map(|letter| letter.heeding(senders)).collect();
            match self.job.work.is_one_by_one() && !letters.is_empty() {
                true => self.one_by_one(letters).await,
                false => self.batch(letters).await,
            }
        }
    }

    /// Completes each letter before it shows the next. Letters that are not shown count as unseen.
    async fn one_by_one(&self, letters: Vec<Letter>) {
        for letter in letters {
            if self.is_stopping() {
                return;
            }
            self.batch(vec![letter]).await;
        }
    }

    /// Handles the letters that were kept back. On a FIFO queue SQS delivers later letters of a group only after these are deleted.
    /// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html>
    pub(super) async fn take_kept_back(&self) {
        let (letters, held) = (self.state().requested.close(), self.lease.count());
        if self.job.work.is_one_by_one() {
            self.one_by_one(letters).await;
        } else {
            for batch in letters.chunks(MAX_ENTRIES).take_while(|_| !self.is_stopping()) {
                self.batch(batch.to_vec()).await;
            }
        }
        if self.job.from.is_fifo() && self.lease.count() < held {
            self.work().await;
        }
    }

    fn is_over(&self) -> bool {
        let state = self.state();
        // Behind the letters that were kept back may be the one that has the requested id itself.
        let is_complete = self.is_complete(&state) && !state.requested.is_closed;
        state.tracker.scope.is_over() || state.tracker.room() == 0 || is_complete
    }

    /// Returns the batch size: one if the user edits letters, else ten, or fewer if few may be done and each is selected.
    fn at_once(&self) -> usize {
        let room = usize::try_from(self.state().tracker.room()).unwrap_or(usize::MAX);
        match self.job.work {
            Work::Edit(..) => 1,
            _ if self.job.selection.is_all() => self.pace.most_at_once().min(room).max(1),
            _ => MAX_ENTRIES,
        }
    }

    pub(super) async fn batch(&self, letters: Vec<Letter>) {
        let (received, kept_before, mut new) = (letters.len(), self.state().requested.kept_back(), 0);
        let (mut wanted, mut duplicates, mut done) = (Vec::new(), Vec::new(), Vec::new());
        let dry_run = self.mode != Mode::Real;
        for letter in letters {
            let kept_back = self.state().requested.keep_back(letter, |letter| self.group(letter));
            let Some(letter) = kept_back else { continue };
            let decision = self.judge(&letter);
            new += usize::from(!matches!(decision, Decision::Again | Decision::Repeated));
            let already_sent = self.already_sent(&letter).filter(|_| decision == Decision::Wanted);
            let decision = match already_sent {
                // The user is asked about it.
                Some(_) if matches!(self.job.work, Work::Ask(..)) => decision,
                // An edited letter is a new message, which no earlier run has sent.
                Some(sent_as) if matches!(self.job.work, Work::Edit(..)) => {
                    let reason = format!(
                        "an earlier run sent it{}; without --edit it is only deleted, with --send-again it is sent as you edit it",
                        as_id(sent_as.as_deref())
                    );
                    self.stays(&letter, Report::Failed(&reason));
                    continue;
                }
                Some(sent_as) => {
                    self.state().tracker.was_done(&letter, sent_as.as_deref());
                    match dry_run {
                        true => self.report(&letter, Report::AlreadySent(sent_as.as_deref())),
                        false => done.push(Deletable { letter, role: Role::AlreadySent(sent_as) }),
                    }
                    continue;
                }
                None => decision,
            };
            match decision {
                Decision::Wanted if dry_run => self.promise(&letter),
                Decision::Wanted => wanted.push(letter),
                Decision::Duplicate if dry_run => self.report(&letter, Report::Duplicate),
                Decision::Duplicate => done.push(Deletable { letter, role: Role::Duplicate }),
                Decision::DuplicateInWork => duplicates.push(Deletable { letter, role: Role::Duplicate }),
                Decision::Repeated if dry_run => (),
                Decision::Repeated => duplicates.push(Deletable { letter, role: Role::Repeated }),
                Decision::Left(why) => {
                    self.report(&letter, Report::Left(why));
                    let is_meant = matches!(
                        why,
                        LeftReason::BehindInGroup | LeftReason::OfAnotherQueue | LeftReason::NoSource
                    );
                    if is_meant && self.job.selection.names(&letter) {
                        self.report(&letter, Report::NamedButLeft(why));
                    }
                }
                Decision::Again => (),
            }
        }
        {
            let mut state = self.state();
            new += state.requested.kept_back().saturating_sub(kept_before);
            state.tracker.scope.received(received, new);
            state.reporter.looked_at(new);
        }
        match &self.job.work {
            Work::Edit(route, decider) | Work::Ask(route, decider) => {
                for letter in wanted {
                    if let Err(error) = self.ask(letter, route, &**decider).await {
                        self.fail(error);
                    }
                }
            }
            Work::Send(route) => done = self.send_at_the_rate(wanted, done, route).await,
            Work::Delete(copies) => match self.copy(copies.as_ref(), &wanted) {
                Ok(()) => done.extend(wanted.into_iter().map(|letter| self.unwanted(letter))),
                Err(error) => {
                    let reason = format!("{error:#}");
                    wanted.iter().for_each(|letter| self.stays(letter, Report::Failed(&reason)));
                    self.fail(error);
                }
            },
        }
        for duplicate in duplicates {
            let mut state = self.state();
            match state.tracker.is_done(&duplicate.letter) {
                true => done.push(duplicate),
                false => state.duplicates.push(duplicate),
            }
        }
        self.delete(done).await;
    }

    fn judge(&self, letter: &Letter) -> Decision {
        let stays_by_its_source = |route: &Route| match letter.source() {
            _ if route.named => None,
            Some(source) => (source != route.to.arn).then_some(LeftReason::OfAnotherQueue),
            None => letter.has_no_source().then_some(LeftReason::NoSource),
        };
        let mut state = self.state();
        let has_returned =
            self.job.sent_back.as_ref().is_some_and(|sent| sent.borrow_mut().note_return(letter));
        let wanted = if has_returned {
            Err(LeftReason::CameBack)
        } else {
            state.requested.mark_found(letter);
            let yields = state.requested.is_taken(letter, |id| state.tracker.has_left(id));
            let verdict = match yields {
                true => Verdict::Fails,
                false => self.job.selection.judge(letter, &mut state.filter, self.began),
            };
            match verdict {
                Verdict::Holds => match self.job.work.route().and_then(stays_by_its_source) {
                    Some(why) => Err(why),
                    None => Ok(()),
                },
                Verdict::Unknown => Err(LeftReason::NoNote),
                Verdict::Fails => Err(LeftReason::NotWanted),
            }
        };
        state.tracker.judge(letter, self.group(letter), wanted)
    }

    /// Asks the user about a letter, and carries out the choice.
    async fn ask(&self, mut letter: Letter, route: &Route, decider: &dyn Decider) -> anyhow::Result<()> {
        let number = {
            let mut state = self.state();
            state.questions += 1;
            state.questions
        };
        let upto = if self.job.selection.is_all() { "" } else { "up to " };
        let already_sent = self.already_sent(&letter);
        let sent = already_sent
            .as_ref()
            .map(|sent_as| format!(", sent{} by an earlier run", as_id(sent_as.as_deref())));
        let place = format!("{number} of {upto}{}{}", self.expected().max(number), sent.unwrap_or_default());
        let choice = match self.has_fatal() {
            true => Ok(Choice::Leave(LeftReason::Interrupted)),
            false => decider.decide(&mut letter, place, self.lease).await,
        };
        match (choice, already_sent) {
            (Ok(Choice::Send(None)), Some(sent_as)) => {
                self.state().tracker.was_done(&letter, sent_as.as_deref());
                let is_deleted =
                    self.delete(vec![Deletable { letter, role: Role::AlreadySent(sent_as) }]).await;
                let line = format!("sent by an earlier run, deleted from {}", self.job.from.name());
                return if is_deleted { decider.report(&line) } else { Ok(()) };
            }
            (Ok(Choice::Send(edited)), _) => {
                let (redrive, desk) = edited.unzip();
                let ready = redrive.map(|redrive| *redrive).or_else(|| self.prepare(&letter, route));
                let id = letter.id.clone();
                let sent = self.send(ready.map(|redrive| (letter, redrive)), route).await;
                let is_sent = !sent.is_empty();
                if !is_sent {
                    desk.into_iter().for_each(|desk| desk.keep(&id));
                }
                self.delete(sent).await;
                return if is_sent {
                    decider.report(&format!("sent to {}", route.to.name()))
                } else {
                    Ok(())
                };
            }
            (Ok(Choice::Delete), _) => {
                // The user is asked about duplicates separately.
                self.state().tracker.give_up(&letter, None);
                let is_deleted = self.delete(vec![Deletable { letter, role: Role::Unwanted }]).await;
                let line = format!("deleted from {}", self.job.from.name());
                // Otherwise the report has the reason.
                return if is_deleted { decider.report(&line) } else { Ok(()) };
            }
            (Ok(Choice::Fail(reason)), _) => self.stays(&letter, Report::Failed(&reason)),
            (Ok(Choice::Leave(why)), _) => {
                self.stays(&letter, Report::Left(why));
                match self.group(&letter) {
                    Some(group) if why == LeftReason::Skipped => {
                        decider.report(&format!("skipped, with the later letters of the group {group}"))?;
                    }
                    None if why == LeftReason::Skipped => decider.report("skipped; it stays where it is")?,
                    Some(_) | None => (),
                }
            }
            (Ok(Choice::Quit), _) => {
                self.stays(&letter, Report::Left(LeftReason::NotShown));
                self.state().quit = true;
            }
            (Err(error), _) => {
                let is_shown = matches!(self.job.work, Work::Edit(..));
                self.stays(
                    &letter,
                    Report::Left(if is_shown { LeftReason::Interrupted } else { LeftReason::NotShown }),
                );
                return Err(error);
            }
        }
        Ok(())
    }

    /// Copies letters to the file before they are deleted, if there is one.
    fn copy(&self, copies: Option<&Copies>, letters: &[Letter]) -> anyhow::Result<()> {
        match copies.filter(|_| !letters.is_empty()) {
            Some(copies) => copies.add(letters.iter(), self.job.from.retention()),
            None => Ok(()),
        }
    }

    pub(super) fn unwanted(&self, letter: Letter) -> Deletable {
        self.state().tracker.done(&letter, None);
        Deletable { letter, role: Role::Unwanted }
    }

    /// Reports that a selected letter stays after all.
    pub(super) fn stays(&self, letter: &Letter, what: Report<'_>) {
        self.state().tracker.give_up(letter, self.group(letter));
        self.report(letter, what);
    }

    /// Deletes duplicates whose message was sent. The others stay.
    pub(super) async fn settle_duplicates(&self) {
        let duplicates = std::mem::take(&mut self.state().duplicates);
        let (done, open): (Vec<_>, Vec<_>) =
            duplicates.into_iter().partition(|duplicate| self.state().tracker.is_done(&duplicate.letter));
        for Deletable { letter, .. } in
            open.iter().filter(|duplicate| matches!(duplicate.role, Role::Duplicate))
        {
            self.report(letter, Report::Left(LeftReason::DuplicateFailed));
        }
        self.delete(done).await;
    }

    /// Returns the group if order matters. It does not for deletes.
    pub(super) fn group<'letter>(&self, letter: &'letter Letter) -> Option<&'letter str> {
        letter.group().filter(|_| self.job.from.is_fifo() && self.job.work.operation() != Operation::Delete)
    }

    /// Records in the journal that duplicates were sent: if one cannot be deleted, the next run only deletes it.
    async fn note_duplicates(&self, letters: &[Deletable]) {
        let Some(route) = self.job.work.route() else { return };
        let duplicates = letters.iter().filter(|done| matches!(done.role, Role::Duplicate));
        let attempt = Attempt::new(&self.job.from.arn, &route.to.arn, None);
        let noted = duplicates.map(|done| {
            self.job.journal.sending(&done.letter.id, &attempt);
            self.job.journal.sent(&done.letter.id, None);
        });
        if noted.count() > 0 {
            self.job.journal.commit().await;
        }
    }

    /// Deletes letters by their newest handles. Returns true if all were deleted.
    pub(super) async fn delete(&self, letters: Vec<Deletable>) -> bool {
        if letters.is_empty() {
            self.job.journal.commit().await;
            return true;
        }
        self.record_start().await;
        self.note_duplicates(&letters).await;
        let newest =
            |done: &Deletable| self.lease.handle(&done.letter.id).unwrap_or(done.letter.handle.clone());
        let handles: Vec<_> = letters.iter().map(newest).collect();
        let unsent = letters.iter().all(|done| matches!(done.role, Role::Unwanted));
        let stop = unsent.then_some(self.lease.stop());
        // The lease may have ended, so another process may have sent it.
        let is_ready = |number: usize| {
            let Deletable { letter, role } = &letters[number];
            !matches!(role, Role::Unwanted) || self.lease.holds(&letter.id)
        };
        let deleted = delete(&self.sqs, &self.job.from, &handles, &self.pace, stop, is_ready);
        let (Step { outcomes, fatal }, ()) = join(deleted, self.job.journal.commit()).await;
        let ended = fatal.as_ref().map(|fatal| format!("{fatal:#}"));
        let all_are_done = outcomes.iter().all(|(_, outcome)| matches!(outcome, Outcome::Done(_)));
        for (number, outcome) in outcomes {
            let Deletable { letter, role } = &letters[number];
            let reason =
                ended.as_deref().filter(|_| outcome == Outcome::NotTried).unwrap_or(outcome.reason());
            let was_held = self.lease.holds(&letter.id);
            let what = match (&outcome, role) {
                (Outcome::Done(_), Role::Sent { sent_as, .. }) if !was_held => {
                    Report::PerhapsTaken(sent_as.as_deref())
                }
                (Outcome::Done(_), Role::Sent { sent_as, before: Some(before) }) => {
                    Report::SentAgain { sent_as: sent_as.as_deref(), before }
                }
                (Outcome::Done(_), Role::Sent { sent_as, before: None }) => Report::Sent(sent_as.as_deref()),
                (Outcome::Done(_), Role::Unwanted) => Report::Deleted,
                (Outcome::Done(_), Role::Duplicate) => Report::Duplicate,
                (Outcome::Done(_), Role::AlreadySent(sent_as)) => Report::AlreadySent(sent_as.as_deref()),
                (Outcome::Done(_), Role::Repeated) => {
                    self.lease.forget(&letter.id);
                    self.job.journal.deleted(&letter.id);
                    continue;
                }
                (Outcome::NotTried, Role::Unwanted) => Report::Left(LeftReason::Interrupted),
                (_, Role::Unwanted) => Report::Failed(reason),
                (_, Role::Sent { sent_as, .. }) => {
                    Report::NotDeleted { sent_as: sent_as.as_deref(), by_this_run: true, reason }
                }
                (_, Role::AlreadySent(sent_as)) => {
                    Report::NotDeleted { sent_as: sent_as.as_deref(), by_this_run: false, reason }
                }
                (_, Role::Duplicate | Role::Repeated) => {
                    Report::NotDeleted { sent_as: None, by_this_run: false, reason }
                }
            };
            if matches!(outcome, Outcome::Done(_)) {
                self.lease.forget(&letter.id);
                self.job.journal.deleted(&letter.id);
            }
            self.report(letter, what);
        }
        self.job.journal.commit().await;
        letters.iter().for_each(|done| self.lease.stop().settle(&super::on_its_way(&done.letter.id)));
        fatal.into_iter().for_each(|fatal| self.fail(fatal));
        all_are_done
    }
}
