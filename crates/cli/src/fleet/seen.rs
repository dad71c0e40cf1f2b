//! Remembers the errors of letters at the last listing. To read them again, a verb would have to receive the letters.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::aws::Aws;
use crate::counted::thousands;
use crate::history::History;
use crate::letters::{ErrorCount, Kinds, Letter};
use crate::span::span;
use crate::store::StorePlace;

/// Name of the file beside the history, in which the last line of a queue counts. A table has one line for each.
const NAME: &str = "seen";

/// Greatest age of a letter.
const KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Time for which a listing waits at its end for a table that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time for which a listing outweighs later and smaller samples, if the number of letters stays about the same.
const OUTWEIGHS: Duration = Duration::from_secs(24 * 60 * 60);

/// Number of errors that are kept for a queue.
const ERRORS: usize = 3;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// ARN of the dead-letter queue.
    queue: String,
    /// Time in RFC 3339.
    at: String,
    /// Letters that were received, and those that could have been: 0 if an older version did not record it.
    letters: usize,
    #[serde(default)]
    of: u64,
    /// Time at which the oldest was sent, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    oldest: Option<String>,
    /// The most frequent first.
    errors: Vec<ErrorCount>,
}

/// Letters of a listing.
#[derive(Debug, Default)]
pub(crate) struct Seeing {
    letters: usize,
    kinds: Kinds,
    oldest: Option<SystemTime>,
}

impl Seeing {
    pub(crate) fn add(&mut self, letter: &Letter) {
        self.letters += 1;
        self.kinds.add(letter);
        self.oldest = self.oldest.into_iter().chain(letter.enqueued_at()).min();
    }

    /// Returns the errors of these letters out of `of` in the queue, unless there are no letters.
    pub(crate) fn seen(&self, queue: &str, of: u64, at: SystemTime) -> Option<Seen> {
        (self.letters > 0).then(|| Seen {
            queue: queue.to_owned(),
            at: humantime::format_rfc3339_seconds(at).to_string(),
            letters: self.letters,
            of,
            oldest: self.oldest.map(|oldest| humantime::format_rfc3339_seconds(oldest).to_string()),
            errors: self.kinds.most_frequent(ERRORS),
        })
    }
}

/// Records the errors. Does not report a failure, because nothing depends on it.
pub(crate) async fn remember(aws: &Aws, seen: &[Seen]) {
    if let Ok(named) = StorePlace::from_env()
        && let Ok(store) = named.reach(async || Ok(aws.clone())).await
    {
        let (history, now) = (History::new(store), SystemTime::now());
        let until = now + KEPT;
        let write = async {
            let before = read(&history, now).await;
            let counts =
                |seen: &&Seen| !before.get(&seen.queue).is_some_and(|before| before.outweighs(seen, now));
            for seen in seen.iter().filter(counts) {
                history.append(NAME, seen.queue.clone(), until, seen).await?;
            }
            anyhow::Ok(())
        };
        let _ = timeout(PATIENCE, write).await;
        let _ = history.shrink(NAME, |lines| last(lines, SystemTime::now()).into_values().collect());
    }
}

impl Seen {
    /// Returns true if the queue had letters that were not received.
    fn is_sample(&self) -> bool {
        (self.letters as u64) < self.of
    }

    /// Returns true if this outweighs a later and smaller sample, because the queue has about as many letters as before.
    fn outweighs(&self, later: &Self, now: SystemTime) -> bool {
        let is_recent = self.age(now).is_some_and(|age| age < OUTWEIGHS);
        let is_same = self.of.abs_diff(later.of) <= self.of / 10;
        later.is_sample() && self.letters > later.letters && is_recent && is_same
    }

    /// Returns the age of the oldest letter, and whether no other can be older. Returns none if it is unknown, or if letters have
    /// left the queue since.
    pub(super) fn oldest(&self, letters: u64, now: SystemTime) -> Option<(Duration, bool)> {
        let sent = humantime::parse_rfc3339(self.oldest.as_ref()?).ok()?;
        let is_there = self.of > 0 && letters >= self.of;
        is_there.then(|| (now.duration_since(sent).unwrap_or_default(), !self.is_sample()))
    }

    fn age(&self, now: SystemTime) -> Option<Duration> {
        let at = humantime::parse_rfc3339(&self.at).ok()?;
        Some(now.duration_since(at).unwrap_or_default())
    }

    /// Formats the errors as `8 of 10 seen 2h ago: failed: card # declined`.
    pub(crate) fn words(&self, now: SystemTime) -> Option<String> {
        let ErrorCount { reason, error, letters } = self.errors.first()?;
        let error = if error.is_empty() { String::new() } else { format!(": {error}") };
        let ago = span(self.age(now)?);
        let sample = if self.is_sample() { "a sample of " } else { "" };
        Some(format!(
            "{} of {sample}{} seen {ago} ago: {reason}{error}",
            thousands(*letters),
            thousands(self.letters)
        ))
    }
}

/// Reads the last listings by the ARNs of dead-letter queues.
pub(crate) async fn read(history: &History, now: SystemTime) -> BTreeMap<String, Seen> {
    last(history.lines(NAME).await.unwrap_or_default(), now)
}

fn last(lines: Vec<Seen>, now: SystemTime) -> BTreeMap<String, Seen> {
    let is_known = |seen: &Seen| seen.age(now).is_some_and(|age| age < KEPT) && !seen.errors.is_empty();
    lines.into_iter().filter(is_known).map(|seen| (seen.queue.clone(), seen)).collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::Message;

    use super::*;
    use crate::store::Store;

    #[test]
    fn the_most_frequent_error_is_told_with_its_age() {
        let mut seeing = Seeing::default();
        assert_eq!(seeing.seen("arn", 0, SystemTime::UNIX_EPOCH), None);
        for id in ["m1", "m2"] {
            seeing.add(&Letter::new(Message::builder().message_id(id).build()));
        }
        let seen = seeing.seen("arn", 2, SystemTime::UNIX_EPOCH).unwrap();
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(7_200);
        assert_eq!(seen.words(later).as_deref(), Some("2 of 2 seen 2h ago: sent"));
        let sample = seeing.seen("arn", 9, SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(sample.words(later).as_deref(), Some("2 of a sample of 2 seen 2h ago: sent"));
    }

    #[test]
    fn a_smaller_sample_replaces_no_listing_of_about_as_many_letters() {
        let seen = |letters, of, at| Seen {
            queue: "arn".to_owned(),
            at: humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + at).to_string(),
            letters,
            of,
            oldest: None,
            errors: vec![],
        };
        let now = SystemTime::UNIX_EPOCH + OUTWEIGHS;
        let full = seen(4_178, 4_178, Duration::from_secs(1));
        for (later, expected) in [
            (seen(10, 4_178, OUTWEIGHS), true),
            (seen(10, 4_200, OUTWEIGHS), true),
            (seen(10, 3_000, OUTWEIGHS), false),
            (seen(10, 10, OUTWEIGHS), false),
            (seen(4_177, 4_177, OUTWEIGHS), false),
        ] {
            assert_eq!(full.outweighs(&later, now), expected, "{later:?}");
        }
        assert!(!full.outweighs(&seen(10, 4_178, OUTWEIGHS), now + Duration::from_secs(1)), "it is old");
        let sample = seen(100, 4_178, Duration::from_secs(1));
        assert!(sample.outweighs(&seen(10, 4_178, OUTWEIGHS), now));
        assert!(!sample.outweighs(&seen(100, 4_178, OUTWEIGHS), now));
    }

    #[tokio::test]
    async fn old_and_empty_listings_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::new(Store::Folder(folder.path().to_owned()));
        let now = SystemTime::UNIX_EPOCH + 2 * KEPT;
        let mut seeing = Seeing::default();
        seeing.add(&Letter::new(Message::builder().message_id("m").build()));
        let of = |queue, age| seeing.seen(queue, 1, now - age).unwrap();
        let nothing = Seen { errors: vec![], ..of("nothing", Duration::ZERO) };
        for seen in [of("old", KEPT), of("two", Duration::from_secs(60)), of("two", Duration::ZERO), nothing]
        {
            history.append(NAME, seen.queue.clone(), now, &seen).await.unwrap();
        }
        let last = BTreeMap::from([("two".to_owned(), of("two", Duration::ZERO))]);
        assert_eq!(read(&history, now).await, last);
        let size = || std::fs::metadata(folder.path().join("seen.jsonl")).unwrap().len();
        let shrink = || history.shrink(NAME, |lines| super::last(lines, now).into_values().collect());
        let before = size();
        shrink().unwrap();
        assert_eq!(size(), before, "it is small");
        let many = 2 * 1_048_576 / before;
        for number in 0..4 * many {
            let seen = of("two", Duration::from_secs(number % 2));
            history.append(NAME, seen.queue.clone(), now, &seen).await.unwrap();
        }
        shrink().unwrap();
        assert!(size() < before, "{} bytes", size());
    }
}
