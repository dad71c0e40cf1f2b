//! The two calls that change something: sending a batch and deleting a batch, with what became of each entry.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::SdkError;
use aws_sdk_sqs::types::{BatchResultErrorEntry, DeleteMessageBatchRequestEntry};

use super::super::hold::Hold;
use super::super::letter::Letter;
use super::super::retry::Outgoing;
use super::pace::Pace;
use crate::aws::{Outlook, Said, answered_of, may_go_better, send_once};

/// How often an entry is tried that may succeed yet.
const TRIES: u32 = 5;

/// So many calls in a row of which nobody knows whether they were carried out end the run.
const UNCLEAR: u32 = 3;

/// What became of the entries of a batch, by their index.
#[derive(Debug)]
pub(crate) struct Answers {
    /// With the message id that SQS gave, if it gave one.
    pub(crate) done: Vec<(usize, Option<String>)>,
    pub(crate) failed: Vec<(usize, Failed)>,
    /// What will fail the next call too.
    pub(crate) fatal: Option<anyhow::Error>,
}

/// Why an entry failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) reason: String,
    /// Whether it may have been done all the same.
    pub(crate) perhaps_done: bool,
}

/// What a single call says: done, failed, or an error for all.
type Answer<E, R> = Result<(Vec<(String, Option<String>)>, Vec<BatchResultErrorEntry>), SdkError<E, R>>;

/// What decides before each try.
pub(crate) struct Terms<'run> {
    pub(crate) pace: &'run Pace,
    pub(crate) hold: &'run Hold,
    /// Whether Ctrl-C ends the tries. What was sent should be deleted all the same.
    pub(crate) stops: bool,
}

/// Sends letters, as long as nobody else can have them.
pub(crate) async fn send(
    sqs: &Client,
    to: &str,
    letters: &[(usize, &Letter, &Outgoing)],
    terms: &Terms<'_>,
) -> Answers {
    let indexes = letters.iter().map(|(index, ..)| *index).collect();
    let name = to.rsplit('/').next().unwrap_or(to);
    let call = async |open: &[usize]| {
        let entries = letters.iter().filter(|(index, ..)| open.contains(index));
        let entries = entries.filter_map(|(index, _, outgoing)| outgoing.entry(*index).ok()).collect();
        let answer = send_once(sqs, to, entries).await?;
        let done = answer.successful.into_iter().map(|entry| (entry.id, Some(entry.message_id))).collect();
        Ok((done, answer.failed))
    };
    let holds = |wanted: usize| {
        letters.iter().any(|(index, letter, _)| *index == wanted && terms.hold.holds(&letter.id))
    };
    all(indexes, &format!("send to {name}"), "sqs:SendMessage", terms, holds, call).await
}

/// Deletes letters.
pub(crate) async fn delete(
    sqs: &Client,
    from: &str,
    letters: &[(usize, &Letter)],
    terms: &Terms<'_>,
) -> Answers {
    let indexes = letters.iter().map(|(index, _)| *index).collect();
    let name = from.rsplit('/').next().unwrap_or(from);
    let call = async |open: &[usize]| {
        let entries = letters.iter().filter(|(index, _)| open.contains(index));
        let entries = entries.filter_map(|(index, letter)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(index.to_string());
            entry.receipt_handle(&letter.handle).build().ok()
        });
        let entries = entries.collect();
        let answer = sqs.delete_message_batch().queue_url(from).set_entries(Some(entries)).send().await?;
        let done = answer.successful.into_iter().map(|entry| (entry.id, None)).collect();
        Ok((done, answer.failed))
    };
    all(indexes, &format!("delete from {name}"), "sqs:DeleteMessage", terms, |_| true, call).await
}

/// Tries until each entry is done or will not be: together, and one by one after a refusal for the sake of one.
async fn all<E>(
    open: Vec<usize>,
    doing: &str,
    permission: &str,
    terms: &Terms<'_>,
    holds: impl Fn(usize) -> bool,
    call: impl AsyncFn(&[usize]) -> Answer<E, HttpResponse>,
) -> Answers
where
    SdkError<E, HttpResponse>: Outlook,
    Result<(), SdkError<E, HttpResponse>>: Said<()>,
{
    let mut answers = Answers { done: vec![], failed: vec![], fatal: None };
    let together = tries(&mut answers, open, doing, permission, terms, &holds, &call).await;
    for index in together {
        match &answers.fatal {
            Some(fatal) => answers.fail([index], &fatal.to_string(), false),
            None => drop(tries(&mut answers, vec![index], doing, permission, terms, &holds, &call).await),
        }
    }
    answers
}

/// Gives back the entries of a call that was refused for the sake of one among several.
async fn tries<E>(
    answers: &mut Answers,
    mut open: Vec<usize>,
    doing: &str,
    permission: &str,
    Terms { pace, hold, stops }: &Terms<'_>,
    holds: &impl Fn(usize) -> bool,
    call: &impl AsyncFn(&[usize]) -> Answer<E, HttpResponse>,
) -> Vec<usize>
where
    SdkError<E, HttpResponse>: Outlook,
    Result<(), SdkError<E, HttpResponse>>: Said<()>,
{
    for tried in 1..=TRIES {
        let last = tried == TRIES;
        answers.fail(open.extract_if(.., |index| !holds(*index)), "the hold on it ran out", false);
        if open.is_empty() {
            return open;
        }
        match call(&open).await {
            Ok((done, failed)) => {
                answers.take(&mut open, done, failed, last, permission);
                if open.is_empty() {
                    pace.faster();
                    return open;
                }
            }
            Err(error) if error.is_refused_for_now() && !last => (),
            Err(error) if error.is_about_an_entry() && open.len() > 1 => return open,
            Err(error) => {
                let (perhaps_done, for_one) = (error.perhaps_done(), error.is_about_an_entry());
                let Err(said) = Err::<(), _>(error).said(doing, permission) else { return vec![] };
                answers.fail(open, &said.to_string(), perhaps_done);
                if !for_one && (!perhaps_done || pace.unclear() >= UNCLEAR) {
                    answers.fatal = Some(said);
                }
                return vec![];
            }
        }
        pace.slower();
        tokio::select! {
            () = hold.stopped(), if *stops => {
                answers.fail(open, "interrupted", false);
                return vec![];
            }
            () = pace.wait(0) => (),
        }
    }
    vec![]
}

impl Answers {
    fn fail(&mut self, indexes: impl IntoIterator<Item = usize>, reason: &str, perhaps_done: bool) {
        let failed = Failed { reason: reason.to_owned(), perhaps_done };
        self.failed.extend(indexes.into_iter().map(|index| (index, failed.clone())));
    }

    /// Sorts the entries; those stay open that SQS is to blame for.
    fn take(
        &mut self,
        open: &mut Vec<usize>,
        done: Vec<(String, Option<String>)>,
        failed: Vec<BatchResultErrorEntry>,
        last: bool,
        permission: &str,
    ) {
        let mut again = Vec::new();
        for (id, message_id) in done {
            let Some(index) = position(open, &id) else { continue };
            self.done.push((index, message_id));
        }
        for entry in failed {
            let Some(index) = position(open, &entry.id) else { continue };
            if last || !may_go_better(&entry) {
                let reason = answered_of(&entry, permission);
                self.failed.push((index, Failed { reason, perhaps_done: false }));
            } else {
                again.push(index);
            }
        }
        self.fail(open.drain(..), "the answer of SQS leaves it out", true);
        *open = again;
    }
}

/// Takes an entry off the open ones.
fn position(open: &mut Vec<usize>, id: &str) -> Option<usize> {
    let index: usize = id.parse().ok()?;
    let at = open.iter().position(|other| *other == index)?;
    Some(open.remove(at))
}

#[cfg(test)]
#[path = "calls/tests.rs"]
mod tests;
