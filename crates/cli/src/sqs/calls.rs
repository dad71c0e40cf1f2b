//! Calls for one batch after the other until each entry is done or has failed: it repeats calls that may succeed later. If SQS
//! refuses a whole call because of one entry, it sends each entry alone.

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

/// Number of attempts in a row for a call that AWS throttles.
const CALLS: u32 = 5;

/// Number of attempts for an entry that fails because of SQS.
const TRIES: u32 = 4;

/// Outcome of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was done, with the message id from SQS, if there is one.
    Done(Option<String>),
    /// It was not done, for this reason.
    Failed(String),
    /// It may have been done, for this reason.
    Perhaps(String),
    /// It was not tried, because an earlier entry of its group was not done.
    Behind,
    /// It was not tried, because it was time to stop.
    NotTried,
}

impl Outcome {
    /// Returns the reason why it was not done.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Failed(reason) | Self::Perhaps(reason) => reason,
            Self::Done(_) | Self::Behind | Self::NotTried => "interrupted",
        }
    }
}

/// Outcomes of a batch by the numbers of entries. Entries that are tried again have none yet.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) outcomes: Vec<(usize, Outcome)>,
    /// Error that would fail the next call too, so this call was the last.
    pub(crate) fatal: Option<anyhow::Error>,
}

/// Answer to a call: the entries that are done and those that failed, or an error for all.
pub(super) type Answer<E> =
    Result<(Vec<(String, Option<String>)>, Vec<BatchResultErrorEntry>), SdkError<E, HttpResponse>>;

/// Parameters of the calls, and the entries that wait.
#[derive(Debug)]
pub(super) struct Calls<'run> {
    pub(super) doing: String,
    pub(super) permission: &'static str,
    pub(super) pace: &'run Pace,
    /// Ends the work between two calls. None if the work must be completed.
    pub(super) stop: Option<&'run Stop>,
    /// True if the rate limit applies to these calls.
    pub(super) is_paced: bool,
    /// Number of calls in a row without a clear answer that ends the work.
    pub(super) most_unclear: u32,
    pub(super) lanes: Lanes,
    /// Failed attempts of the entries that wait to be tried again.
    tries: BTreeMap<usize, u32>,
    throttled: u32,
    /// Error that ended the work.
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

    /// Calls for the next batch. Returns none if nothing waits, or it is time to stop.
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
            // After throttling, each entry waits as the whole batch would.
            let may_go = step.fatal.is_none() && (self.throttled == 0 || self.wait_again(&one).await);
            match may_go {
                true => drop(self.call(&mut step, vec![one], &mut is_ready, &call).await),
                false => self.try_again(vec![one]),
            }
        }
        Some(step)
    }

    /// Returns the numbers of the entries that were not done.
    pub(super) fn rest(&self) -> Vec<usize> {
        self.lanes.waiting().map(|(number, _)| number).collect()
    }

    /// Returns the outcomes of the entries that were not done.
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

    /// Makes a call. Returns its entries if SQS refused it because of one among several.
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

    /// Sorts the entries of an answer, and tries those again that failed because of SQS.
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
