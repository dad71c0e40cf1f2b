//! Batch after batch until each entry is done or will not be: what may go better is tried again, and where SQS refuses a
//! whole call for the sake of one entry, each goes alone.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use redrive_sqs::batch::{Next, Reply};
use redrive_sqs::{LaneMessage, Lanes, MAX_ENTRIES};

use super::outlook::Outlook;
use super::pace::Pace;
use super::signals::Stop;
use crate::aws::{answered_of, describe_error};

/// How often in a row a call is made that AWS throttles.
const CALLS: u32 = 5;

/// How often an entry is tried that SQS fails for a reason of its own.
const TRIES: u32 = 4;

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With the message id that SQS gave, if it gave one.
    Done(Option<String>),
    /// Why it was not done.
    Failed(String),
    /// Why nobody knows whether it was done.
    Perhaps(String),
    /// It was not tried, since one before it of its group was not done.
    Behind,
    /// It was not tried, since it was time to stop.
    NotTried,
}

impl Outcome {
    /// Why it was not done.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Failed(reason) | Self::Perhaps(reason) => reason,
            Self::Done(_) | Self::Behind | Self::NotTried => "interrupted",
        }
    }
}

/// What a batch brought, by the numbers of entries. Entries that are tried again are in none.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) outcomes: Vec<(usize, Outcome)>,
    /// What would fail the next call too: this was the last.
    pub(crate) fatal: Option<anyhow::Error>,
}

/// What a single call says: done, failed, or an error for all.
pub(super) type Answer<E> =
    Result<(Vec<(String, Option<String>)>, Vec<BatchResultErrorEntry>), SdkError<E, HttpResponse>>;

/// The terms of the calls, and the entries that wait for theirs.
#[derive(Debug)]
pub(super) struct Calls<'run> {
    pub(super) doing: String,
    pub(super) permission: &'static str,
    pub(super) pace: &'run Pace,
    /// What ends it between two calls; none where it must be done all the same.
    pub(super) stop: Option<&'run Stop>,
    /// Whether the rate is that of these calls.
    pub(super) is_paced: bool,
    /// So many calls in a row of which nobody knows whether they were carried out end it.
    pub(super) most_unclear: u32,
    pub(super) lanes: Lanes,
    /// How often entries failed that wait to be tried again.
    tries: BTreeMap<usize, u32>,
    throttled: u32,
    /// What ended it.
    fatal: Option<String>,
}

impl<'run> Calls<'run> {
    pub(super) fn new(
        doing: String,
        permission: &'static str,
        pace: &'run Pace,
        stop: Option<&'run Stop>,
    ) -> Self {
        Self {
            doing,
            permission,
            pace,
            stop,
            is_paced: false,
            most_unclear: 3,
            lanes: Lanes::default(),
            tries: BTreeMap::new(),
            throttled: 0,
            fatal: None,
        }
    }

    /// Calls for the next batch. None: nothing waits, or it is time to stop.
    pub(super) async fn next<E>(
        &mut self,
        mut is_ready: impl FnMut(usize) -> bool,
        call: impl AsyncFn(&[usize]) -> Answer<E>,
    ) -> Option<Step>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let most = if self.is_paced { self.pace.most_at_once() } else { MAX_ENTRIES };
        let batch = if self.fatal.is_some() { vec![] } else { self.lanes.next_batch(most) };
        if batch.is_empty() {
            return None;
        }
        if !self.wait(&batch).await {
            batch.into_iter().for_each(|(number, turn)| self.lanes.push(number, turn));
            return None;
        }
        let mut step = Step::default();
        for one in self.call(&mut step, batch, &mut is_ready, &call).await {
            // After a refusal for the moment, each of them waits as the whole would.
            let may_go = step.fatal.is_none() && (self.throttled == 0 || self.wait_again(&one).await);
            match may_go {
                true => drop(self.call(&mut step, vec![one], &mut is_ready, &call).await),
                false => self.try_again(vec![one]),
            }
        }
        Some(step)
    }

    /// The numbers of what was not done.
    pub(super) fn rest(&self) -> Vec<usize> {
        self.lanes.waiting().map(|(number, _)| number).collect()
    }

    /// What is to be said of what was not done.
    pub(super) fn finish(self) -> Vec<(usize, Outcome)> {
        let reason = self.fatal.as_deref().unwrap_or("interrupted");
        let outcome = |number| match self.tries.contains_key(&number) {
            true => (number, Outcome::Failed(reason.to_owned())),
            false => (number, Outcome::NotTried),
        };
        self.rest().into_iter().map(outcome).collect()
    }

    async fn wait_again(&mut self, one: &(usize, LaneMessage)) -> bool {
        self.tries.entry(one.0).or_default();
        self.wait(std::slice::from_ref(one)).await
    }

    /// Waits for its turn; false if it is time to stop.
    async fn wait(&self, batch: &[(usize, LaneMessage)]) -> bool {
        let new = batch.iter().filter(|(number, _)| !self.tries.contains_key(number)).count();
        let turn = async {
            if self.is_paced || new < batch.len() {
                self.pace.wait(if self.is_paced { new } else { 0 }).await;
            }
        };
        let Some(stop) = self.stop else {
            turn.await;
            return true;
        };
        tokio::select! {
            biased;
            () = stop.wanted() => false,
            () = turn => true,
        }
    }

    /// Gives back the entries of a call that was refused for the sake of one among several.
    async fn call<E>(
        &mut self,
        step: &mut Step,
        batch: Vec<(usize, LaneMessage)>,
        is_ready: &mut impl FnMut(usize) -> bool,
        call: &impl AsyncFn(&[usize]) -> Answer<E>,
    ) -> Vec<(usize, LaneMessage)>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let (batch, late): (Vec<_>, Vec<_>) = batch.into_iter().partition(|(number, _)| is_ready(*number));
        for entry in late {
            self.end(step, entry, Outcome::Failed("its visibility timeout ended".to_owned()));
        }
        let numbers: Vec<_> = batch.iter().map(|(number, _)| *number).collect();
        if numbers.is_empty() {
            return vec![];
        }
        let error = match call(&numbers).await {
            Ok((done, failed)) => {
                self.answered(step, batch, done, &failed);
                return vec![];
            }
            Err(error) => error,
        };
        let next = error.next(batch.len());
        match next {
            Next::Again if self.throttled + 1 < CALLS => {
                self.throttled += 1;
                self.pace.slower();
                self.try_again(batch);
                return vec![];
            }
            Next::Alone | Next::Bad => self.throttled = 0,
            Next::Done | Next::Again | Next::Denied | Next::Unclear => {}
        }
        if next == Next::Alone {
            return batch;
        }
        let error = describe_error(&error, &self.doing, self.permission);
        let outcome = if next == Next::Bad { Outcome::Failed } else { Outcome::Perhaps };
        match next {
            Next::Bad | Next::Unclear => {
                batch.into_iter().for_each(|entry| self.end(step, entry, outcome(error.to_string())));
            }
            Next::Done | Next::Again | Next::Alone | Next::Denied => self.try_again(batch),
        }
        if next == Next::Bad || next == Next::Unclear && self.pace.unclear() < self.most_unclear {
            return vec![];
        }
        self.fatal = Some(error.to_string());
        step.fatal = Some(error);
        vec![]
    }

    /// Sorts the entries; those are tried again that SQS is to blame for.
    fn answered(
        &mut self,
        step: &mut Step,
        batch: Vec<(usize, LaneMessage)>,
        done: Vec<(String, Option<String>)>,
        failed: &[BatchResultErrorEntry],
    ) {
        self.throttled = 0;
        let mut done: HashMap<_, _> = done.into_iter().collect();
        let mut again = Vec::new();
        for (number, turn) in batch {
            let id = number.to_string();
            let outcome = match (done.remove(&id), failed.iter().find(|entry| entry.id == id)) {
                (Some(message_id), _) => Outcome::Done(message_id),
                (None, Some(entry)) => {
                    let tries = self.tries.get(&number).copied().unwrap_or_default() + 1;
                    let reply = Reply::Failed { code: &entry.code, sender_fault: entry.sender_fault };
                    if reply.next() == Next::Again && tries < TRIES {
                        self.tries.insert(number, tries);
                        again.push((number, turn));
                        continue;
                    }
                    Outcome::Failed(answered_of(entry, self.permission))
                }
                (None, None) => Outcome::Perhaps("SQS did not report a result for it".to_owned()),
            };
            self.end(step, (number, turn), outcome);
        }
        match again.is_empty() {
            true => self.pace.faster(),
            false => self.pace.slower(),
        }
        self.try_again(again);
    }

    fn try_again(&mut self, batch: Vec<(usize, LaneMessage)>) {
        for (number, turn) in batch {
            self.tries.entry(number).or_default();
            self.lanes.push(number, turn);
        }
    }

    /// What fails keeps what is behind it.
    fn end(&mut self, step: &mut Step, (number, turn): (usize, LaneMessage), outcome: Outcome) {
        self.tries.remove(&number);
        let is_done = matches!(outcome, Outcome::Done(_));
        step.outcomes.push((number, outcome));
        if let Some(group) = turn.group.filter(|_| !is_done) {
            step.outcomes.extend(self.lanes.stop(&group).into_iter().map(|behind| (behind, Outcome::Behind)));
        }
    }
}

#[cfg(test)]
mod tests;
