//! Makes the calls of the settler.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use tokio::time::Instant;

use super::queue::SourceQueue;
use super::settler::{Job, Settled, What};
use crate::aws::Sqs;
use crate::batch::settle::{Letter, change_in_queue, delete, write_letters};

impl Job {
    /// Makes the call. All its entries are of one kind.
    pub(super) async fn run(
        self,
        sqs: &Sqs,
        queue: &SourceQueue,
        dead: Option<&str>,
        until: Instant,
    ) -> Settled {
        let Self { entries, lanes, .. } = self;
        let began = Instant::now();
        let numbered = || entries.iter().enumerate();
        let confirmed = match entries.first().map(|entry| &entry.what) {
            None => Vec::new(),
            Some(What::Delete) => {
                let messages: Vec<_> = numbered().map(|(index, entry)| (index, &*entry.handle)).collect();
                delete(sqs, &queue.url, &messages, until).await
            }
            Some(What::Change(_)) => {
                let changes = numbered().filter_map(|(index, entry)| match entry.what {
                    What::Change(after) => Some((index, &*entry.handle, after)),
                    What::Delete | What::Letter(_) => None,
                });
                change_in_queue(sqs, &queue.url, &changes.collect::<Vec<_>>(), until).await
            }
            Some(What::Letter(_)) => {
                let letters = numbered().filter_map(|(index, entry)| match &entry.what {
                    What::Letter(letter) => Some(Letter {
                        index,
                        record: &letter.records.list()[letter.index],
                        attributes: letter.attributes.clone(),
                    }),
                    What::Delete | What::Change(_) => None,
                });
                write_letters(sqs, dead.unwrap_or_default(), &letters.collect::<Vec<_>>(), until).await
            }
        };
        let confirmed = confirmed.into_iter().map(|index| entries[index].key).collect();
        let keys = entries.iter().map(|entry| entry.key).collect();
        Settled { keys, confirmed, took: began.elapsed(), lanes }
    }
}
