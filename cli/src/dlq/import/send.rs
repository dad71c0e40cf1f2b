//! Sending lines, ten to a call, and knowing which were taken.

use anyhow::anyhow;
use aws_sdk_sqs::Client;
use redrive_sqs::{Lanes, MAX_BYTES, MAX_ENTRIES, Turn};

use super::gate::{Gate, Pass, lines};
use super::parcel::{Entry, Receiver};
use crate::aws::{FIRST_PAUSE, Outlook, Said, TRIES, answered_of, may_go_better, send_batch};
use crate::dlq::tell::{letters, tell};
use crate::find::Queue;
use crate::stop::Stop;

/// Lines that are read before they are sent, so that one call takes lines of several groups.
const MOST_WAITING: usize = 10 * MAX_ENTRIES;
const MOST_BYTES: usize = 10 * MAX_BYTES;

#[derive(Debug)]
pub(super) struct Sender {
    sqs: Client,
    url: String,
    dry_run: bool,
    stop: Stop,
    gate: Gate,
    /// With their numbers.
    waiting: Vec<(usize, Entry)>,
    bytes: usize,
    sent: usize,
    failed: usize,
}

/// What became of a call.
enum Answer {
    /// But for these, by their number.
    Taken(Vec<(usize, Failed)>),
    /// For what is in it.
    Refused(Failed),
}

/// Why a line was not sent.
struct Failed {
    reason: String,
    may_go_better: bool,
}

impl Sender {
    pub(super) fn new(sqs: Client, queue: &Queue, to: Receiver, dry_run: bool, stop: Stop) -> Self {
        let (gate, url) = (Gate::new(to), queue.url.clone());
        Self { sqs, url, dry_run, stop, gate, waiting: vec![], bytes: 0, sent: 0, failed: 0 }
    }

    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// Says that a line was not sent, which stops its group.
    pub(super) fn fail(&mut self, line: usize, group: Option<String>, reason: &str) {
        self.failed += 1;
        tell(format_args!("line {line}: {reason}"));
        self.gate.stop(line, group);
    }

    /// Says which lines were not sent for others of their group.
    pub(super) fn tell_stopped(&self) {
        self.gate.told().iter().for_each(|stopped| tell(format_args!("{stopped}")));
    }

    /// Lets it wait for its turn, and sends what waits when there is enough of it.
    ///
    /// # Errors
    /// As [`Sender::send_waiting`].
    pub(super) async fn add(&mut self, line: usize, entry: Entry) -> anyhow::Result<()> {
        match self.gate.pass(line, &entry) {
            Pass::Goes => (),
            Pass::Behind => {
                self.failed += 1;
                return Ok(());
            }
            Pass::SameAs(first) => {
                tell(format_args!("line {line}: the same letter as line {first}, left out"));
                return Ok(());
            }
            Pass::Swallowed(first) => {
                let reason = format!(
                    "its deduplication id is that of line {first}, so that SQS would drop it: give it another"
                );
                self.fail(line, None, &reason);
                return Ok(());
            }
        }
        if self.waiting.len() == MOST_WAITING || self.bytes + entry.bytes > MOST_BYTES {
            self.send_waiting().await?;
        }
        self.bytes += entry.bytes;
        self.waiting.push((line, entry));
        Ok(())
    }

    /// # Errors
    /// Nothing can be sent to this queue: which lines were sent is in the error.
    pub(super) async fn send_waiting(&mut self) -> anyhow::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if self.dry_run {
            self.sent += waiting.len();
            return Ok(());
        }
        let turn = |(_, entry): &(usize, Entry)| Turn {
            group: self.gate.group(entry).map(str::to_owned),
            size: entry.bytes,
        };
        let mut lanes = Lanes::new(waiting.iter().map(turn).collect());
        let (mut over, mut tries) = (Vec::new(), vec![0; waiting.len()]);
        loop {
            let batch = lanes.next_batch();
            let Some(&first) = batch.first() else { return Ok(()) };
            let entries: Vec<_> = batch.iter().map(|index| &waiting[*index]).collect();
            let failed = match self.send_unless_stopped(&entries).await {
                Ok(failed) => failed,
                Err(error) => {
                    over.retain(|line| *line > waiting[first].0);
                    over.sort_unstable();
                    return Err(match over.is_empty() {
                        true => error,
                        false => error.context(format!("of those behind, {} went before it", lines(&over))),
                    });
                }
            };
            over.extend(entries.iter().map(|(line, _)| *line));
            let mut most_tries = 0;
            for (index, Failed { reason, may_go_better }) in failed {
                let index = batch[index];
                let (line, entry) = &waiting[index];
                tries[index] += 1;
                if may_go_better && tries[index] < TRIES {
                    over.retain(|other| other != line);
                    lanes.again(index);
                    most_tries = most_tries.max(tries[index]);
                    continue;
                }
                self.fail(*line, entry.group_id().map(str::to_owned), &reason);
                for behind in lanes.stop_behind(index) {
                    let (line, entry) = &waiting[behind];
                    self.failed += 1;
                    self.gate.stop_behind(*line, entry);
                }
            }
            if most_tries > 0 {
                tokio::select! {
                    () = self.stopped() => (),
                    () = tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(most_tries - 1)) => (),
                }
            }
        }
    }

    async fn send_unless_stopped(
        &mut self,
        entries: &[&(usize, Entry)],
    ) -> anyhow::Result<Vec<(usize, Failed)>> {
        let numbers: Vec<_> = entries.iter().map(|(line, _)| *line).collect();
        if self.stop.is_wanted() {
            return Err(self.interrupted(numbers.first().copied().unwrap_or_default()));
        }
        self.stop.sending(lines(&numbers));
        let failed = self.send(entries).await;
        self.stop.sending(String::new());
        failed
    }

    /// Waits until it is to stop.
    pub(super) async fn stopped(&self) {
        self.stop.wanted().await;
    }

    /// At this line, which was not sent.
    pub(super) fn interrupted(&self, line: usize) -> anyhow::Error {
        anyhow!("interrupted: stopped at line {line}, after {}", letters(self.sent))
    }

    /// Which were not sent, and why.
    async fn send(&mut self, entries: &[&(usize, Entry)]) -> anyhow::Result<Vec<(usize, Failed)>> {
        if let Answer::Taken(failed) = self.call(entries).await? {
            return Ok(failed);
        }
        // SQS refuses a whole batch for some faults of one message: find out which.
        let mut failed = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            match self.call(&[*entry]).await {
                Ok(Answer::Taken(alone)) => failed.extend(alone.into_iter().map(|(_, why)| (index, why))),
                Ok(Answer::Refused(why)) => failed.push((index, why)),
                Err(error) => {
                    // Whoever goes on at the line of the error would not see to these.
                    for (index, Failed { reason, .. }) in failed {
                        let (line, entry) = entries[index];
                        self.fail(*line, entry.group_id().map(str::to_owned), &reason);
                    }
                    return Err(error);
                }
            }
        }
        Ok(failed)
    }

    async fn call(&mut self, entries: &[&(usize, Entry)]) -> anyhow::Result<Answer> {
        let built = entries.iter().enumerate().map(|(index, (_, entry))| entry.build(index)).collect();
        let sent = send_batch(&self.sqs, &self.url, built).await;
        let perhaps_done = sent.as_ref().is_err_and(Outlook::perhaps_done);
        let is_about_a_message = sent.as_ref().is_err_and(Outlook::is_about_an_entry);
        let said = sent.said(&format!("send to {}", self.url), "sqs:SendMessage").map_err(|error| {
            let numbers: Vec<_> = entries.iter().map(|(line, _)| *line).collect();
            let first = numbers.first().copied().unwrap_or_default();
            let error = error.context(format!("stopped at line {first}, after {}", letters(self.sent)));
            match perhaps_done {
                true => error.context(format!("{} may have been sent anyway", lines(&numbers))),
                false => error,
            }
        });
        let answer = match said {
            Ok(answer) => answer,
            Err(error) if is_about_a_message => {
                let reason = error.root_cause().to_string();
                return Ok(Answer::Refused(Failed { reason, may_go_better: false }));
            }
            Err(error) => return Err(error),
        };
        self.sent += answer.successful().len();
        let successful = answer.successful().iter().map(|entry| &entry.id);
        let answered: Vec<_> = successful.chain(answer.failed().iter().map(|entry| &entry.id)).collect();
        let is_silent = |index: &usize| !answered.iter().any(|id| **id == index.to_string());
        let silent = (0..entries.len()).filter(is_silent);
        let silence = || "the answer of SQS leaves it out; it may have been sent anyway".to_owned();
        let mut failed: Vec<_> =
            silent.map(|index| (index, Failed { reason: silence(), may_go_better: false })).collect();
        failed.extend(answer.failed().iter().filter_map(|entry| {
            let index = entry.id().parse().ok().filter(|index| *index < entries.len())?;
            let reason = answered_of(entry, "sqs:SendMessage");
            Some((index, Failed { reason, may_go_better: may_go_better(entry) }))
        }));
        Ok(Answer::Taken(failed))
    }
}
