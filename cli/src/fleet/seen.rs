//! The errors of letters, as they were listed last: to read them anew, letters would have to be received.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::aws::Aws;
use crate::counted::thousands;
use crate::history::History;
use crate::letters::{ErrorCount, Kinds, Letter};
use crate::span::span;
use crate::store::Named;

/// Beside the history. The last line of a queue counts; a table has one of each.
const NAME: &str = "seen";

/// No letter is older.
const KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How long a listing goes on after it is done, if a table does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many errors of a queue are kept.
const ERRORS: usize = 3;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// The ARN of the dead-letter queue.
    queue: String,
    /// In RFC 3339.
    at: String,
    /// How many letters were received.
    letters: usize,
    /// The most frequent first.
    errors: Vec<ErrorCount>,
}

/// Letters that are being listed.
#[derive(Debug, Default)]
pub(crate) struct Seeing {
    letters: usize,
    kinds: Kinds,
}

impl Seeing {
    pub(crate) fn add(&mut self, letter: &Letter) {
        self.letters += 1;
        self.kinds.add(letter);
    }

    /// Which errors these letters of a queue have, unless there are none.
    pub(crate) fn seen(&self, queue: &str, at: SystemTime) -> Option<Seen> {
        (self.letters > 0).then(|| Seen {
            queue: queue.to_owned(),
            at: humantime::format_rfc3339_seconds(at).to_string(),
            letters: self.letters,
            errors: self.kinds.most_frequent(ERRORS),
        })
    }
}

/// Writes down what was seen. Nothing depends on it, so that a failure is not told.
pub(crate) async fn remember(aws: &Aws, seen: &[Seen]) {
    if let Ok(named) = Named::from_env()
        && let Ok(store) = named.reach(async || Ok(aws.clone())).await
    {
        let (history, until) = (History::new(store), SystemTime::now() + KEPT);
        let write = async {
            for seen in seen {
                history.append(NAME, seen.queue.clone(), until, seen).await?;
            }
            anyhow::Ok(())
        };
        let _ = timeout(PATIENCE, write).await;
        let _ = history.shrink(NAME, |lines| last(lines, SystemTime::now()).into_values().collect());
    }
}

impl Seen {
    fn age(&self, now: SystemTime) -> Option<Duration> {
        let at = humantime::parse_rfc3339(&self.at).ok()?;
        Some(now.duration_since(at).unwrap_or_default())
    }

    /// `8 of 10 seen 2h ago: failed: card # declined`
    pub(crate) fn words(&self, now: SystemTime) -> Option<String> {
        let ErrorCount { reason, error, letters } = self.errors.first()?;
        let error = if error.is_empty() { String::new() } else { format!(": {error}") };
        let ago = span(self.age(now)?);
        Some(format!(
            "{} of {} seen {ago} ago: {reason}{error}",
            thousands(*letters),
            thousands(self.letters)
        ))
    }
}

/// What was seen last, by the ARNs of dead-letter queues.
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
        assert_eq!(seeing.seen("arn", SystemTime::UNIX_EPOCH), None);
        for id in ["m1", "m2"] {
            seeing.add(&Letter::new(Message::builder().message_id(id).build()));
        }
        let seen = seeing.seen("arn", SystemTime::UNIX_EPOCH).unwrap();
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(7_200);
        assert_eq!(seen.words(later).as_deref(), Some("2 of 2 seen 2h ago: redrive-policy"));
    }

    #[tokio::test]
    async fn what_is_too_old_or_says_nothing_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::new(Store::Folder(folder.path().to_owned()));
        let now = SystemTime::UNIX_EPOCH + 2 * KEPT;
        let mut seeing = Seeing::default();
        seeing.add(&Letter::new(Message::builder().message_id("m").build()));
        let of = |queue, age| seeing.seen(queue, now - age).unwrap();
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
