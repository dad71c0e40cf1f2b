//! What workers did.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::kit::Fault;

use crate::simulation::scenario::Says;

/// Times count from the beginning of the run.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The ids of the messages, in the order in which they were sent.
    pub(super) ids: Vec<String>,
    pub(super) calls: Vec<Call>,
    pub(super) runs: Vec<Run>,
    pub(super) taken_away: Vec<usize>,
    pub(super) ends: BTreeMap<usize, End>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) life: usize,
    pub(super) operation: String,
    pub(super) sent: Duration,
    /// To the worker, if it still waited.
    pub(super) answered: Option<Duration>,
    pub(super) entries: Vec<Entry>,
    pub(super) fault: Option<Fault>,
}

/// A message that a receive brought, or one of which another call is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) handle: String,
    /// The id of the message, of a letter or a receive.
    pub(super) subject: String,
    pub(super) timeout: Option<u64>,
    pub(super) is_done: bool,
}

/// One message in a handler.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) life: usize,
    pub(super) message: usize,
    pub(super) call: usize,
    pub(super) began: Duration,
    pub(super) ended: Option<Duration>,
    /// Nothing if it was canceled.
    pub(super) said: Option<Says>,
}

/// How a worker ended: when it was told to, and when it had.
#[derive(Debug)]
pub(super) struct End {
    pub(super) told: Duration,
    pub(super) ended: Duration,
    /// Nothing if it was killed.
    pub(super) result: Option<Result<(), String>>,
}

impl Log {
    /// The receipt handle by which a worker has a message at this time.
    pub(super) fn handle(&self, life: usize, message: usize, at: Duration) -> Option<&Entry> {
        let receives =
            self.calls.iter().filter(|call| call.life == life && call.operation == "ReceiveMessage");
        let known = receives.filter(|call| call.answered.is_some_and(|answered| answered <= at));
        let of_message = known.filter_map(|call| {
            let entry = call.entries.iter().find(|entry| entry.subject == self.ids[message])?;
            Some((call.answered, entry))
        });
        // Of two polls at a time the one that was sent first may be answered last.
        of_message.max_by_key(|(answered, _)| *answered).map(|(_, entry)| entry)
    }

    /// Until when a worker that knew what it knew at this time could count on a message.
    pub(super) fn until(&self, handle: &str, visibility: Duration, at: Duration) -> Duration {
        let grants = self.calls.iter().filter(|call| {
            let granted = |it: &Entry| {
                let extends = it.timeout == Some(visibility.as_secs()) || call.operation == "ReceiveMessage";
                it.handle == handle && it.is_done && extends
            };
            call.answered.is_some_and(|answered| answered <= at) && call.entries.iter().any(granted)
        });
        grants.map(|call| call.sent + visibility).max().unwrap_or_default()
    }
}
