//! The two calls that change something: sending a batch and deleting a batch, with what became of each entry.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::SdkError;
use aws_sdk_sqs::types::{BatchResultErrorEntry, DeleteMessageBatchRequestEntry};

use super::super::letter::Letter;
use super::super::retry::Outgoing;
use super::pace::Pace;
use crate::aws::{Said, code_of};

/// How often an entry is tried that may succeed yet. The SDK tries each call three times by itself.
const TRIES: u32 = 5;

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

/// Sends letters.
pub(crate) async fn send(sqs: &Client, to: &str, letters: &[(usize, &Outgoing)], pace: &Pace) -> Answers {
    let indexes = letters.iter().map(|(index, _)| *index).collect();
    let name = to.rsplit('/').next().unwrap_or(to);
    let call = async |open: &[usize]| {
        let entries = letters.iter().filter(|(index, _)| open.contains(index));
        let entries = entries.filter_map(|(index, letter)| letter.entry(*index).ok()).collect();
        let answer = sqs.send_message_batch().queue_url(to).set_entries(Some(entries)).send().await?;
        let done = answer.successful.into_iter().map(|entry| (entry.id, Some(entry.message_id))).collect();
        Ok((done, answer.failed))
    };
    all(indexes, &format!("send to {name}"), "sqs:SendMessage", pace, call).await
}

/// Deletes letters.
pub(crate) async fn delete(sqs: &Client, from: &str, letters: &[(usize, &Letter)], pace: &Pace) -> Answers {
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
    all(indexes, &format!("delete from {name}"), "sqs:DeleteMessage", pace, call).await
}

/// Tries until each entry is done or will not be.
async fn all<E, R>(
    mut open: Vec<usize>,
    doing: &str,
    permission: &str,
    pace: &Pace,
    call: impl AsyncFn(&[usize]) -> Answer<E, R>,
) -> Answers
where
    SdkError<E, R>: Throttled,
    Result<(), SdkError<E, R>>: Said<()>,
{
    let mut answers = Answers { done: vec![], failed: vec![], fatal: None };
    if open.is_empty() {
        return answers;
    }
    for tried in 1..=TRIES {
        let last = tried == TRIES;
        match call(&open).await {
            Ok((done, failed)) => {
                answers.take(&mut open, done, failed, last);
                if open.is_empty() {
                    pace.faster();
                    return answers;
                }
            }
            Err(error) if error.is_throttled() && !last => (),
            Err(error) => {
                let perhaps_done = error.perhaps_done();
                let said = Err::<(), _>(error).said(doing, permission);
                let reason = said.as_ref().err().map(ToString::to_string).unwrap_or_default();
                let failed = Failed { reason, perhaps_done };
                answers.failed.extend(open.into_iter().map(|index| (index, failed.clone())));
                answers.fatal = said.err();
                return answers;
            }
        }
        pace.slower();
        pace.wait(0).await;
    }
    answers
}

impl Answers {
    /// Sorts the entries; those stay open that SQS is to blame for.
    fn take(
        &mut self,
        open: &mut Vec<usize>,
        done: Vec<(String, Option<String>)>,
        failed: Vec<BatchResultErrorEntry>,
        last: bool,
    ) {
        let mut again = Vec::new();
        for (id, message_id) in done {
            let Some(index) = position(open, &id) else { continue };
            self.done.push((index, message_id));
        }
        for entry in failed {
            let Some(index) = position(open, &entry.id) else { continue };
            if entry.sender_fault || last {
                let said = entry.message.as_deref().unwrap_or("no reason given");
                let reason = format!("{said} ({})", entry.code);
                self.failed.push((index, Failed { reason, perhaps_done: false }));
            } else {
                again.push(index);
            }
        }
        let silent = Failed { reason: "SQS says nothing of it".to_owned(), perhaps_done: true };
        self.failed.extend(open.drain(..).map(|index| (index, silent.clone())));
        *open = again;
    }
}

/// Takes an entry off the open ones.
fn position(open: &mut Vec<usize>, id: &str) -> Option<usize> {
    let index: usize = id.parse().ok()?;
    let at = open.iter().position(|other| *other == index)?;
    Some(open.remove(at))
}

/// What an error means for those who call again.
trait Throttled {
    fn is_throttled(&self) -> bool;
    /// Whether the call may have been carried out.
    fn perhaps_done(&self) -> bool;
}

impl<E, R> Throttled for SdkError<E, R>
where
    E: aws_sdk_sqs::error::ProvideErrorMetadata,
{
    fn is_throttled(&self) -> bool {
        let throttled = [
            "RequestThrottled",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
            "KmsThrottled",
        ];
        code_of(self).is_some_and(|code| throttled.contains(&code))
    }

    fn perhaps_done(&self) -> bool {
        match self {
            Self::ConstructionFailure(_) => false,
            Self::ServiceError(_) => code_of(self).is_none_or(|code| code.starts_with("Internal")),
            _ => true,
        }
    }
}
