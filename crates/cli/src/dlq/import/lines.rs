//! Sends lines and reports those that failed.

use std::collections::{BTreeSet, HashMap};

use anyhow::anyhow;
use aws_sdk_sqs::Client;
use redrive_sqs::cut_to;

use super::line::Identity;
use crate::find::Queue;
use crate::sqs::{Behind, NewMessage, OnLostAnswer, Outcome, Pace, QueueRules, Sender, Step, Stop};
use crate::tell::{letters, tell};

/// Sends lines, by their numbers in the file.
#[derive(Debug)]
pub(super) struct Lines<'run> {
    to: QueueRules,
    dry_run: bool,
    stop: &'run Stop,
    sender: Sender<'run>,
    /// Lines before this one by deduplication id: their numbers, and digests of their content.
    seen: HashMap<String, (usize, [u8; 32])>,
    /// Lines that were sent although an earlier one still waits.
    ahead: BTreeSet<usize>,
    pub(super) sent: usize,
    pub(super) failed: usize,
    /// Failed lines that may have been sent, because the answer was lost.
    pub(super) perhaps_sent: usize,
}

impl<'run> Lines<'run> {
    pub(super) fn new(sqs: Client, to: &Queue, dry_run: bool, pace: &'run Pace, stop: &'run Stop) -> Self {
        Self {
            to: QueueRules::of(to),
            dry_run,
            stop,
            sender: Sender::new(sqs, to, pace, stop, OnLostAnswer::End),
            seen: HashMap::new(),
            ahead: BTreeSet::new(),
            sent: 0,
            failed: 0,
            perhaps_sent: 0,
        }
    }

    /// Reports that a line was not sent, and stops its group.
    pub(super) fn fail(&mut self, line: usize, group: Option<&str>, reason: &str) {
        self.failed += 1;
        tell(format_args!("line {line}: {reason}"));
        self.sender.guard.stop(group.filter(|_| self.to.is_fifo), line);
    }

    /// Queues a line, and sends the waiting lines once they are enough.
    ///
    /// # Errors
    /// Those of [`Lines::send_waiting`].
    pub(super) async fn add(&mut self, line: usize, message: NewMessage) -> anyhow::Result<()> {
        let group = message.group_id.clone().filter(|_| self.to.is_fifo);
        if !self.sender.guard.lets_pass(group.as_deref(), line) {
            self.failed += 1;
            return Ok(());
        }
        if let Some(Identity { id, content }) = Identity::of(&message, &self.to) {
            match self.seen.get(&id).copied() {
                Some((first, same)) if same == content => {
                    tell(format_args!("line {line}: skipped, since line {first} is the same letter"));
                    return Ok(());
                }
                Some((first, _)) => {
                    let reason = format!(
                        "its deduplication id is that of line {first}, so SQS would drop it: change it"
                    );
                    self.fail(line, group.as_deref(), &reason);
                    return Ok(());
                }
                None => self.seen.insert(id, (line, content)),
            };
        }
        if self.dry_run {
            self.sent += 1;
            return Ok(());
        }
        while self.sender.is_full() {
            self.send_batch().await?;
        }
        // An earlier line of its group may have failed just now.
        self.failed += usize::from(!self.sender.push(line, group, message));
        Ok(())
    }

    /// # Errors
    /// Nothing can be sent to this queue, or the import was interrupted. The error says which lines were sent.
    pub(super) async fn send_waiting(&mut self) -> anyhow::Result<()> {
        while !self.sender.rest().is_empty() {
            self.send_batch().await?;
        }
        Ok(())
    }

    async fn send_batch(&mut self) -> anyhow::Result<()> {
        let begin = |line: usize| {
            self.stop.begin(format!("line {line}"));
            true
        };
        let Some(Step { outcomes, fatal }) = self.sender.next(begin, async || ()).await else {
            return match self.sender.rest().first() {
                Some(first) => Err(self.went_before(*first, self.interrupted(*first))),
                None => Ok(()),
            };
        };
        let mut lost = Vec::new();
        for (line, outcome) in outcomes {
            self.stop.settle(&format!("line {line}"));
            match outcome {
                Outcome::Done(_) => {
                    self.sent += 1;
                    self.ahead.insert(line);
                }
                Outcome::Perhaps(_) if fatal.is_some() => lost.push(line),
                Outcome::Failed(reason) => self.fail(line, None, &reason),
                Outcome::Perhaps(reason) => {
                    self.perhaps_sent += 1;
                    self.fail(line, None, &format!("{reason}; it may have been sent anyway"));
                }
                Outcome::Behind | Outcome::NotTried => self.failed += 1,
            }
        }
        self.perhaps_sent += lost.len();
        self.failed += lost.len();
        let rest = self.sender.rest();
        let first = lost.iter().chain(rest.first()).min().copied().unwrap_or(usize::MAX);
        self.ahead = self.ahead.split_off(&first);
        let Some(fatal) = fatal else { return Ok(()) };
        let error = fatal.context(format!("stopped at line {first}, after {}", letters(self.sent)));
        let error = self.went_before(first, error);
        Err(match lost.is_empty() {
            true => error,
            false => error.context(format!("{} may have been sent anyway", list(&lost))),
        })
    }

    fn went_before(&self, first: usize, error: anyhow::Error) -> anyhow::Error {
        let before: Vec<_> = self.ahead.range(first..).copied().collect();
        match before.is_empty() {
            true => error,
            false => error.context(format!("{} behind it had already been sent", list(&before))),
        }
    }

    /// Returns the error for an import that stops at this line, which was not sent.
    pub(super) fn interrupted(&self, line: usize) -> anyhow::Error {
        anyhow!("interrupted: stopped at line {line}, after {}", letters(self.sent))
    }

    /// Reports the lines that were not sent because an earlier line of their group failed.
    pub(super) fn report_held_up(&self) {
        for (group, Behind { failed, behind }) in self.sender.guard.held_up() {
            let mut behind = behind.clone();
            behind.sort_unstable();
            let (lines, were) = (list(&behind), if behind.len() == 1 { "was" } else { "were" });
            let group = cut_to(group, 128);
            tell(format_args!(
                "group {group}: line {failed} was not sent, so {lines} behind it {were} not sent either"
            ));
        }
    }
}

/// Formats sorted numbers as `line 3` or `lines 3, 5 to 8`.
pub(super) fn list(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    let runs = runs.collect::<Vec<_>>().join(", ");
    if numbers.len() == 1 { format!("line {runs}") } else { format!("lines {runs}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_one_another_are_said_in_short() {
        assert_eq!(list(&[3]), "line 3");
        assert_eq!(list(&[1, 2, 5, 7, 8, 9]), "lines 1 to 2, 5, 7 to 9");
    }
}
