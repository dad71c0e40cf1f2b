//! Sending lines, ten to a call, and knowing which were taken.

use aws_sdk_sqs::Client;

use super::parcel::Entry;
use crate::aws::{Outlook, Said, code_of, send_batch};
use crate::dlq::limits::{LARGEST, MOST_ENTRIES};
use crate::dlq::tell::{letters, tell};
use crate::find::Queue;

/// Lines that go together, with their numbers.
#[derive(Debug, Default)]
pub(super) struct Batch {
    entries: Vec<(usize, Entry)>,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Sender {
    sqs: Client,
    url: String,
    dry_run: bool,
    sent: usize,
    failed: usize,
}

impl Batch {
    pub(super) fn has_room(&self, entry: &Entry) -> bool {
        self.entries.len() < MOST_ENTRIES && self.bytes + entry.bytes <= LARGEST
    }

    pub(super) fn add(&mut self, line: usize, entry: Entry) {
        self.bytes += entry.bytes;
        self.entries.push((line, entry));
    }
}

impl Sender {
    pub(super) fn new(sqs: Client, queue: &Queue, dry_run: bool) -> Self {
        Self { sqs, url: queue.url.clone(), dry_run, sent: 0, failed: 0 }
    }

    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// Says that a line was not sent.
    pub(super) fn fail(&mut self, line: usize, reason: &str) {
        self.failed += 1;
        tell(format_args!("line {line}: {reason}"));
    }

    /// # Errors
    /// Nothing can be sent to this queue: which lines were sent is in the error.
    pub(super) async fn send(&mut self, batch: Batch) -> anyhow::Result<()> {
        if batch.entries.is_empty() || self.dry_run {
            self.sent += batch.entries.len();
            return Ok(());
        }
        let refused = self.call(&batch.entries).await?;
        // SQS refuses a whole batch for some faults of one message: find out which.
        if refused.is_some() {
            for (line, entry) in batch.entries {
                if let Some(reason) = self.call(&[(line, entry)]).await? {
                    self.fail(line, &reason);
                }
            }
        }
        Ok(())
    }

    /// Why the call was refused for what is in it.
    async fn call(&mut self, entries: &[(usize, Entry)]) -> anyhow::Result<Option<String>> {
        let built = entries.iter().enumerate().map(|(index, (_, entry))| entry.build(index)).collect();
        let sent = send_batch(&self.sqs, &self.url, built).await;
        let perhaps_done = sent.as_ref().is_err_and(Outlook::perhaps_done);
        let is_about_messages = sent.as_ref().err().and_then(code_of).is_some_and(|code| {
            matches!(
                code,
                "InvalidParameterValue"
                    | "MissingParameter"
                    | "InvalidMessageContents"
                    | "BatchRequestTooLong"
                    | "UnsupportedOperation"
                    | "InvalidAttributeValue"
                    | "InvalidParameterCombination"
            )
        });
        let lines = entries.iter().map(|(line, _)| *line);
        let said = sent.said(&format!("send to {}", self.url), "sqs:SendMessage").map_err(|error| {
            let first = lines.clone().next().unwrap_or_default();
            let last = lines.clone().next_back().unwrap_or_default();
            let error = error.context(format!("stopped at line {first}, after {}", letters(self.sent)));
            match perhaps_done {
                true => error.context(format!("lines {first} to {last} may have been sent all the same")),
                false => error,
            }
        });
        let answer = match said {
            Ok(answer) => answer,
            Err(error) if is_about_messages => return Ok(Some(error.root_cause().to_string())),
            Err(error) => return Err(error),
        };
        self.sent += answer.successful().len();
        let successful = answer.successful().iter().map(|entry| &entry.id);
        let answered: Vec<_> = successful.chain(answer.failed().iter().map(|entry| &entry.id)).collect();
        for (index, line) in lines.clone().enumerate() {
            if !answered.iter().any(|id| **id == index.to_string()) {
                self.fail(line, "SQS says nothing of it; it may have been sent all the same");
            }
        }
        for failed in answer.failed() {
            let index: usize = failed.id().parse().unwrap_or_default();
            let line = lines.clone().nth(index).unwrap_or_default();
            self.fail(
                line,
                &format!("{} ({})", failed.message().unwrap_or("no reason given"), failed.code()),
            );
        }
        Ok(None)
    }
}
