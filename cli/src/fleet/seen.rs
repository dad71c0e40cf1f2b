//! The errors of letters, as they were listed last: to read them anew, letters would have to be received.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::facts::Fleet;
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

    /// Writes down which errors these letters of a queue have. Nothing depends on it, so that a failure is not told.
    pub(crate) async fn remember(&self, aws: &Aws, queue: &str, at: SystemTime) {
        if self.letters == 0 {
            return;
        }
        if let Ok(named) = Named::from_env()
            && let Ok(store) = named.reach(async || Ok(aws.clone())).await
        {
            let seen = self.seen(queue, at);
            let _ = History::new(store).append(NAME, queue.to_owned(), at + KEPT, &seen).await;
        }
    }

    fn seen(&self, queue: &str, at: SystemTime) -> Seen {
        Seen {
            queue: queue.to_owned(),
            at: humantime::format_rfc3339_seconds(at).to_string(),
            letters: self.letters,
            errors: self.kinds.most_frequent(ERRORS),
        }
    }
}

impl Seen {
    /// `8 of 10 seen 2h ago: failed: card # declined`
    pub(crate) fn words(&self, now: SystemTime) -> Option<String> {
        let ErrorCount { reason, error, letters } = self.errors.first()?;
        let error = if error.is_empty() { String::new() } else { format!(": {error}") };
        let at = humantime::parse_rfc3339(&self.at).ok()?;
        let ago = span(now.duration_since(at).unwrap_or_default());
        Some(format!(
            "{} of {} seen {ago} ago: {reason}{error}",
            thousands(*letters),
            thousands(self.letters)
        ))
    }
}

/// The fleet with the errors that were seen last.
pub(crate) async fn apply(mut fleet: Fleet, history: &History) -> Fleet {
    let lines = history.lines::<Seen>(NAME).await.unwrap_or_default();
    let mut last: BTreeMap<String, Seen> = lines.into_iter().map(|seen| (seen.queue.clone(), seen)).collect();
    for queue in fleet.queues.iter_mut().filter(|queue| queue.letters > 0) {
        queue.seen = last.remove(&queue.arn);
    }
    fleet
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::Message;

    use super::*;

    #[test]
    fn the_most_frequent_error_is_told_with_its_age() {
        let mut seeing = Seeing::default();
        assert_eq!(seeing.seen("arn", SystemTime::UNIX_EPOCH).words(SystemTime::UNIX_EPOCH), None);
        for id in ["m1", "m2"] {
            seeing.add(&Letter::new(Message::builder().message_id(id).build()));
        }
        let seen = seeing.seen("arn", SystemTime::UNIX_EPOCH);
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(7_200);
        assert_eq!(seen.words(later).as_deref(), Some("2 of 2 seen 2h ago: redrive-policy"));
    }
}
