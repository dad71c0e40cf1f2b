//! Writes and reads lines of the journal. Pure.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// Time, with some margin, in which a FIFO queue drops a message with a known deduplication id.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html>
const REMEMBERED: Duration = Duration::from_secs(270);

/// Longest line in bytes. A line has a few ids, ARNs and a time.
const LONGEST: u64 = 64 << 10;

/// A step of a letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    #[serde(with = "rfc3339")]
    at: SystemTime,
    letter: String,
    #[serde(flatten)]
    action: LetterStep,
}

/// The steps that this version knows. It skips lines with others, which another version may have written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub(super) enum LetterStep {
    Sending(Attempt),
    Sent { sent_as: Option<String> },
    Kept,
    Deleted,
}

/// The sending of a letter from one queue to another, by their ARNs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) from: String,
    pub(crate) to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deduplication_id: Option<String>,
    /// Time of its start.
    #[serde(skip, default = "epoch")]
    pub(crate) at: SystemTime,
    /// Id of the sent message, if SQS confirmed it.
    #[serde(skip)]
    pub(crate) sent_as: Option<String>,
    #[serde(skip)]
    pub(crate) is_sent: bool,
}

/// Attempts by letter id.
pub(super) type Attempts = BTreeMap<String, Attempt>;

impl JournalEntry {
    pub(super) fn new(at: SystemTime, letter: &str, action: LetterStep) -> Self {
        Self { at, letter: letter.to_owned(), action }
    }

    /// Returns the line with its line break.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

impl Attempt {
    pub(crate) fn new(from: &str, to: &str, deduplication_id: Option<&str>) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            deduplication_id: deduplication_id.map(str::to_owned),
            at: epoch(),
            sent_as: None,
            is_sent: false,
        }
    }

    /// Returns true if the destination is a FIFO queue that still drops the same message.
    pub(super) fn is_remembered(&self, now: SystemTime) -> bool {
        let age = now.duration_since(self.at).unwrap_or_default();
        self.deduplication_id.is_some() && age < REMEMBERED
    }

    /// Returns true if the letter arrives twice when another attempt sends it again, provided that this one arrived.
    pub(crate) fn is_repeated_by(&self, other: &Self, now: SystemTime) -> bool {
        let is_same = (&self.to, &self.deduplication_id) == (&other.to, &other.deduplication_id);
        !(is_same && self.is_remembered(now))
    }

    /// Returns true if SQS has confirmed the send to this queue.
    pub(crate) fn is_confirmed_to(&self, queue: &str) -> bool {
        self.is_sent && self.to == queue
    }

    /// Describes the attempt for people.
    pub(crate) fn words(&self, letter: &str) -> String {
        let at = humantime::format_rfc3339_millis(self.at);
        let sent_as = self.sent_as.as_ref().map(|id| format!(" as {id}")).unwrap_or_default();
        match self.is_sent {
            true => format!("an earlier run sent letter {letter}{sent_as} at {at} and did not delete it"),
            false => {
                format!("an earlier run was sending letter {letter} at {at} and did not learn the result")
            }
        }
    }
}

/// Result of reading lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) attempts: Attempts,
    /// Lines that no version of redrive has written, not even in part.
    pub(super) damaged: usize,
}

/// Reads the attempts that these lines leave open. Returns none if nothing in their first 64 KiB is redrive's: a foreign file
/// may have any size. Skips a line that was cut off, and steps that only another version knows.
pub(super) fn open_in(mut lines: impl BufRead) -> io::Result<Option<Open>> {
    let (mut open, mut line, mut is_ours, mut is_rest) = (Open::default(), Vec::new(), false, false);
    let mut read = 0;
    loop {
        line.clear();
        read += lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if line.is_empty() || !is_ours && read as u64 > LONGEST {
            return Ok(is_ours.then_some(open));
        }
        let is_whole = !is_rest;
        is_rest = !line.ends_with(b"\n");
        let entry = match serde_json::from_slice(&line) {
            Ok(entry) if is_whole => Some(entry),
            Err(error) if error.is_syntax() => {
                open.damaged += usize::from(is_whole);
                None
            }
            _ => None,
        };
        let Some(JournalEntry { at, letter, action }) = entry else {
            continue;
        };
        is_ours = true;
        let open = &mut open.attempts;
        match action {
            // A repeated call belongs to the same attempt.
            LetterStep::Sending(attempt) => drop(open.entry(letter).or_insert(Attempt { at, ..attempt })),
            LetterStep::Sent { sent_as } => {
                if let Some(attempt) = open.get_mut(&letter) {
                    attempt.is_sent = true;
                    attempt.sent_as = sent_as;
                }
            }
            LetterStep::Kept | LetterStep::Deleted => drop(open.remove(&letter)),
        }
    }
}

fn epoch() -> SystemTime {
    SystemTime::UNIX_EPOCH
}

mod rfc3339 {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_millis(*time))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        humantime::parse_rfc3339(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn attempt(deduplication_id: Option<&str>) -> Attempt {
        Attempt::new("arn:dead", "arn:orders", deduplication_id)
    }

    fn line(letter: &str, action: LetterStep) -> String {
        JournalEntry::new(at(100), letter, action).line()
    }

    #[test]
    fn a_line_says_what_was_done_with_which_letter() {
        assert_eq!(
            line("l", LetterStep::Sending(attempt(None))),
            "{\"at\":\"1970-01-01T00:01:40.000Z\",\"letter\":\"l\",\"action\":\"sending\",\"from\":\"arn:dead\",\"to\":\"arn:orders\"}\n"
        );
        assert_eq!(
            line("l", LetterStep::Sent { sent_as: Some("m".to_owned()) }),
            "{\"at\":\"1970-01-01T00:01:40.000Z\",\"letter\":\"l\",\"action\":\"sent\",\"sent_as\":\"m\"}\n"
        );
    }

    #[test]
    fn a_letter_is_open_until_it_is_known_to_stay_or_is_deleted() {
        let lines = [
            line("kept", LetterStep::Sending(attempt(None))),
            line("deleted", LetterStep::Sending(attempt(None))),
            line("sent", LetterStep::Sending(attempt(None))),
            line("open", LetterStep::Sending(attempt(Some("d")))),
            line("kept", LetterStep::Kept),
            line("deleted", LetterStep::Sent { sent_as: None }),
            line("sent", LetterStep::Sent { sent_as: Some("m".to_owned()) }),
            line("deleted", LetterStep::Deleted),
            "{\"at\":\"1970-01-01T00:01:40Z\",\"letter\":\"open\",\"action\":\"of tomorrow\"}\n\u{0}\n"
                .to_owned(),
            line("cut off", LetterStep::Sending(attempt(None))).split_at(60).0.to_owned(),
        ];
        let Open { attempts, damaged } = open_in(lines.concat().as_bytes()).unwrap().expect("it is ours");
        assert_eq!(damaged, 1);
        let words: Vec<_> = attempts.iter().map(|(letter, attempt)| attempt.words(letter)).collect();
        assert_eq!(
            words,
            [
                "an earlier run was sending letter open at 1970-01-01T00:01:40.000Z and did not learn the result",
                "an earlier run sent letter sent as m at 1970-01-01T00:01:40.000Z and did not delete it",
            ]
        );
    }

    #[test]
    fn of_a_file_of_others_no_more_is_read_than_a_line_of_ours_has() {
        let endless = io::BufReader::new(io::repeat(0));
        assert_eq!(open_in(endless).unwrap(), None);
        let [first, second] = ["1", "2"].map(|letter| line(letter, LetterStep::Sending(attempt(None))));
        let junk = "x".repeat(usize::try_from(LONGEST).unwrap());
        let lines = format!("{first}{junk}{second}{second}");
        let open = open_in(lines.as_bytes()).unwrap().expect("it is ours").attempts;
        assert_eq!(open.keys().collect::<Vec<_>>(), ["1", "2"]);
        let rest = format!("{first}{junk}{second}");
        let open = open_in(rest.as_bytes()).unwrap().expect("it is ours").attempts;
        assert_eq!(open.keys().collect::<Vec<_>>(), ["1"], "the end of a long line is no line");
    }

    #[test]
    fn a_damaged_first_line_hides_no_other() {
        let lines = format!("\0\0\0\n{}", line("1", LetterStep::Sending(attempt(None))));
        let open = open_in(lines.as_bytes()).unwrap().expect("it is ours");
        assert_eq!((open.attempts.len(), open.damaged), (1, 1));
    }

    #[test]
    fn a_fifo_queue_drops_the_same_message_for_a_while() {
        let of = |id| Attempt { at: at(100), ..attempt(id) };
        let repeats =
            |one: Option<&'static str>, other, now| of(one).is_repeated_by(&attempt(other), at(now));
        assert!(!repeats(Some("d"), Some("d"), 300));
        assert!(repeats(Some("d"), Some("d"), 400));
        assert!(repeats(Some("d"), Some("e"), 300) && repeats(None, None, 100));
        let elsewhere = Attempt { to: "arn:other".to_owned(), ..attempt(Some("d")) };
        assert!(of(Some("d")).is_repeated_by(&elsewhere, at(300)));
    }

    proptest! {
        #[test]
        fn bytes_of_others_are_no_journal(bytes: Vec<u8>) {
            prop_assert_eq!(open_in(&*bytes).unwrap(), None);
        }

        #[test]
        fn a_kill_loses_no_more_than_the_line_that_was_being_written(
            letters in prop::collection::vec(("[a-c]", 0..4_u8), 1..20),
            cut in 0..40_usize,
        ) {
            let lines: Vec<_> = letters.iter().map(|(letter, action)| line(letter, match action {
                0 => LetterStep::Sending(attempt(None)),
                1 => LetterStep::Sent { sent_as: Some("m".to_owned()) },
                2 => LetterStep::Kept,
                _ => LetterStep::Deleted,
            })).collect();
            let (all, next) = (lines.concat(), line("d", LetterStep::Sending(attempt(None))));
            let cut_off = format!("{all}{}", &next[..cut]);
            prop_assert_eq!(open_in(cut_off.as_bytes()).unwrap(), open_in(all.as_bytes()).unwrap());
        }
    }
}
