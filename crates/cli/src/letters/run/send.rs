//! Sends letters back.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::batch::{Deletable, Role};
use super::{Route, Run, on_its_way};
use crate::journal::Attempt;
use crate::letters::letter::Letter;
use crate::letters::redrive::Redrive;
use crate::letters::report::Report;
use crate::letters::tracker::LeftReason;
use crate::sqs::{OnLostAnswer, Outcome, QueueRules, Sender};

impl Run<'_> {
    /// Sends letters in small batches at a low rate, so that no letter waits for others between its send and its delete.
    pub(super) async fn send_at_the_rate(
        &self,
        letters: Vec<Letter>,
        mut done: Vec<Deletable>,
        route: &Route,
    ) -> Vec<Deletable> {
        let mut letters = letters.into_iter().peekable();
        loop {
            let mut ready = Vec::new();
            for letter in letters.by_ref().take(self.pace.most_at_once()) {
                let overtakes = self.state().tracker.overtakes(&letter, self.group(&letter));
                if overtakes {
                    self.stays(&letter, Report::Left(LeftReason::BehindInGroup));
                } else if let Some(redrive) = self.prepare(&letter, route) {
                    ready.push((letter, redrive));
                }
            }
            done.extend(self.send(ready, route).await);
            if letters.peek().is_none() {
                return done;
            }
            self.delete(std::mem::take(&mut done)).await;
        }
    }

    /// Returns the message to send for a letter. If there is none, it reports the reason.
    pub(super) fn prepare(&self, letter: &Letter, route: &Route) -> Option<Redrive> {
        let to = QueueRules::of(&route.to);
        let redrive = Redrive::new(letter, &to).and_then(|redrive| match redrive.message.size() {
            // The user can make it smaller in the editor.
            bytes if bytes > to.largest && !self.job.work.is_one_by_one() => {
                Err(format!("body and attributes have {bytes} bytes, allowed: {}", to.largest))
            }
            _ => Ok(redrive),
        });
        redrive.inspect_err(|reason| self.stays(letter, Report::Failed(reason))).ok()
    }

    /// Reports what the run would do with a letter, for a dry run.
    pub(super) fn promise(&self, letter: &Letter) {
        if let Some(route) = self.job.work.route() {
            let Some(redrive) = self.prepare(letter, route) else { return };
            let redrive = self.again(letter, redrive);
            if let Some(before) = self.sent_before(letter, &self.attempt(&redrive, route)) {
                self.report(letter, Report::SentBefore(&before));
            }
            if !redrive.has_origin {
                self.report(letter, Report::WithoutOrigin);
            }
        }
        self.state().tracker.done(letter, None);
        self.report(letter, Report::Chosen);
    }

    fn attempt(&self, redrive: &Redrive, route: &Route) -> Attempt {
        Attempt::new(&self.job.from.arn, &route.to.arn, redrive.message.deduplication_id.as_deref())
    }

    /// Returns the id under which an earlier run has sent a letter to the same queue, if SQS confirmed it.
    pub(super) fn already_sent(&self, letter: &Letter) -> Option<Option<String>> {
        let route = self.job.work.route().filter(|_| !self.job.send_again)?;
        let confirmed =
            self.job.journal.earlier(&letter.id).find(|earlier| earlier.is_confirmed_to(&route.to.arn));
        confirmed.map(|earlier| earlier.sent_as.clone())
    }

    /// Changes the deduplication id for `--send-again`. Otherwise a FIFO queue would drop the message within five minutes, and the
    /// letter would be lost. All calls of this run use the same id.
    fn again(&self, letter: &Letter, redrive: Redrive) -> Redrive {
        let is_again = self.job.send_again && self.job.journal.earlier(&letter.id).next().is_some();
        if is_again { redrive.once_more(self.began) } else { redrive }
    }

    /// Describes the attempt of an earlier run, if this attempt would make the letter arrive twice.
    fn sent_before(&self, letter: &Letter, attempt: &Attempt) -> Option<String> {
        let now = SystemTime::now();
        let repeated =
            self.job.journal.earlier(&letter.id).filter(|earlier| earlier.is_repeated_by(attempt, now));
        repeated.max_by_key(|earlier| (earlier.is_sent, earlier.at)).map(|earlier| earlier.words(&letter.id))
    }

    /// Sends letters as these messages, and returns those to delete.
    pub(super) async fn send(
        &self,
        ready: impl IntoIterator<Item = (Letter, Redrive)>,
        route: &Route,
    ) -> Vec<Deletable> {
        let (sqs, stop) = (self.sqs.clone(), self.lease.stop());
        let mut sender = Sender::new(sqs, &route.to, &self.pace, stop, OnLostAnswer::GoOn);
        let mut letters = BTreeMap::new();
        for (number, (letter, redrive)) in ready.into_iter().enumerate() {
            let redrive = self.again(&letter, redrive);
            let attempt = self.attempt(&redrive, route);
            sender.push(number, self.group(&letter).map(str::to_owned), redrive.message);
            let before = self.sent_before(&letter, &attempt);
            letters.insert(number, Leaving { letter, attempt, before, has_origin: redrive.has_origin });
        }
        let mut sent = Vec::new();
        while !self.has_fatal() {
            let begin = |number: usize| {
                let Leaving { letter: Letter { id, .. }, attempt, .. } = &letters[&number];
                let is_held = self.lease.holds(id);
                if is_held {
                    stop.begin(on_its_way(id));
                    self.job.journal.sending(id, attempt);
                }
                is_held
            };
            let written_down = async || {
                self.record_start().await;
                self.job.journal.commit().await;
            };
            let Some(step) = sender.next(begin, written_down).await else { break };
            step.fatal.into_iter().for_each(|fatal| self.fail(fatal));
            sent.extend(self.settle(&mut letters, step.outcomes));
        }
        sent.extend(self.settle(&mut letters, sender.finish()));
        sent
    }

    /// Reports the outcomes of letters, and returns those that were sent.
    fn settle(
        &self,
        letters: &mut BTreeMap<usize, Leaving>,
        outcomes: Vec<(usize, Outcome)>,
    ) -> Vec<Deletable> {
        let mut sent = Vec::new();
        for (number, outcome) in outcomes {
            let Some(Leaving { letter, before, has_origin, .. }) = letters.remove(&number) else { continue };
            let what = match &outcome {
                Outcome::Done(id) => {
                    self.job.journal.sent(&letter.id, id.as_deref());
                    self.state().tracker.done(&letter, id.as_deref());
                    if let (Some(sent_back), Some(id)) = (&self.job.sent_back, &id) {
                        sent_back.borrow_mut().sent(&letter, id);
                    }
                    if !has_origin {
                        self.report(&letter, Report::WithoutOrigin);
                    }
                    sent.push(Deletable { letter, role: Role::Sent { sent_as: id.clone(), before } });
                    continue;
                }
                Outcome::Failed(reason) => Report::Failed(reason),
                Outcome::Perhaps(reason) => Report::PerhapsSent(reason),
                Outcome::Behind => Report::Left(LeftReason::BehindInGroup),
                Outcome::NotTried => Report::Left(LeftReason::Interrupted),
            };
            if !matches!(outcome, Outcome::Perhaps(_)) {
                self.job.journal.kept(&letter.id);
            }
            self.stays(&letter, what);
            self.lease.stop().settle(&on_its_way(&letter.id));
        }
        sent
    }
}

/// A letter that is being sent.
#[derive(Debug)]
struct Leaving {
    letter: Letter,
    attempt: Attempt,
    /// The attempt of an earlier run, in words.
    before: Option<String>,
    has_origin: bool,
}
