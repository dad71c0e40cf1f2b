//! Deletes, visibility timeouts and letters of all messages in hand, in calls of ten.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use redrive_sqs::lease::{LONGEST, Leases, Standing};

use super::hold::{Ask, Key, Kind, NewLetter, Request};
use crate::batch::outbox::{Call, Outbox};

/// How long the first entry of a call waits for others.
const GATHERING: Duration = Duration::from_millis(100);
/// How long a call and its tries may take.
const CALL: Duration = Duration::from_secs(5);
/// With less time left on a lease no call is made, which would have to be answered by then.
const TOO_LATE: Duration = Duration::from_millis(50);
/// The first pause before a call is made again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What is to be settled, and was not answered yet.
#[derive(Debug)]
pub(super) struct Settler {
    outbox: Outbox,
    /// Whether each call is made at once, since the next message of a group waits for it.
    is_fifo: bool,
    pending: BTreeMap<Key, Pending>,
    /// Messages that wait for the answer to the extension of their lease.
    waiting: BTreeSet<Key>,
    /// When messages are tried again.
    again: BTreeSet<(Duration, Key)>,
}

#[derive(Debug)]
struct Pending {
    at: usize,
    ask: Ask,
    tries: u32,
    is_sent: bool,
}

/// One message of a call.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) handle: Arc<str>,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Delete,
    Change(Duration),
    Letter(Arc<NewLetter>),
}

/// A call that has been made, and the messages for which SQS has confirmed it.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) keys: Vec<Key>,
    pub(super) confirmed: Vec<Key>,
    pub(super) took: Duration,
    pub(super) lanes: Vec<Key>,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) key: Key,
    pub(super) at: usize,
    pub(super) kind: Kind,
    pub(super) confirmed: bool,
}

impl Settler {
    pub(super) fn new(is_fifo: bool) -> Self {
        Self {
            outbox: Outbox::gathering(GATHERING),
            is_fifo,
            pending: BTreeMap::new(),
            waiting: BTreeSet::new(),
            again: BTreeSet::new(),
        }
    }

    /// Takes a request. Returns the answer if there is one at once: the lease is lost.
    pub(super) fn ask(
        &mut self,
        request: Request,
        leases: &mut Leases<Key>,
        now: Duration,
    ) -> Option<Answered> {
        let Request { key, at, ask } = request;
        let standing = match ask {
            // Its lease is extended until its delete.
            Ask::Letter(_) if leases.until(key).is_some() => Standing::Held,
            Ask::Letter(_) => Standing::Lost,
            Ask::Delete | Ask::Change(_) => leases.settle(key),
        };
        let kind = ask.kind();
        if standing == Standing::Lost {
            return Some(Answered { key, at, kind, confirmed: false });
        }
        // An extension that comes after a delete undoes nothing.
        let waits = standing == Standing::Extending && kind != Kind::Delete;
        self.pending.insert(key, Pending { at, ask, tries: 0, is_sent: false });
        if waits {
            self.waiting.insert(key);
        } else {
            self.queue(key, now);
        }
        None
    }

    fn queue(&mut self, key: Key, now: Duration) {
        match self.pending.get(&key).map(|pending| &pending.ask) {
            Some(Ask::Delete) => self.outbox.delete(key, now),
            Some(Ask::Change(_)) => self.outbox.change(key, now),
            Some(Ask::Letter(letter)) => self.outbox.letter(key, letter.lane, now),
            None => {}
        }
    }

    /// Whether the call that deletes the message was made, so that the extension of its lease may be refused.
    pub(super) fn deletes(&self, key: Key) -> bool {
        self.pending.get(&key).is_some_and(|pending| pending.is_sent && matches!(pending.ask, Ask::Delete))
    }

    /// The extension of a lease was answered, whatever the answer.
    pub(super) fn extended(&mut self, key: Key, now: Duration) {
        if self.waiting.remove(&key) {
            self.queue(key, now);
        }
    }

    /// The next call that is due, and the messages that are not in it because their leases are lost.
    pub(super) fn next(
        &mut self,
        leases: &Leases<Key>,
        now: Duration,
        flush: bool,
        handle: impl Fn(Key) -> Option<(Arc<str>, Duration)>,
    ) -> Option<(Job, Vec<Answered>)> {
        while let Some(&(at, key)) = self.again.first().filter(|(at, _)| *at <= now) {
            self.again.remove(&(at, key));
            self.queue(key, now);
        }
        let call = self.outbox.next_call(now, flush || self.is_fifo)?;
        let (Call::Letters(mut keys) | Call::Deletes(mut keys) | Call::Changes(mut keys)) = call;
        if self.is_fifo {
            // The end of a group first, so that its messages come back in order.
            keys.reverse();
        }
        let mut job = Job { entries: Vec::with_capacity(keys.len()), lanes: Vec::new(), until: now + CALL };
        let mut lost = Vec::new();
        for key in keys {
            let Some(pending) = self.pending.get_mut(&key) else { continue };
            if let Ask::Letter(letter) = &pending.ask {
                job.lanes.push(letter.lane);
            }
            let held = leases.until(key).filter(|until| *until > now + TOO_LATE).zip(handle(key));
            let Some((until, (handle, received))) = held else {
                lost.extend(self.answer(key, false));
                continue;
            };
            pending.is_sent = true;
            job.until = job.until.min(until);
            let what = match &pending.ask {
                Ask::Delete => What::Delete,
                Ask::Change(after) => What::Change((*after).min((received + LONGEST).saturating_sub(now))),
                Ask::Letter(letter) => What::Letter(Arc::clone(letter)),
            };
            job.entries.push(Entry { key, handle, what });
        }
        Some((job, lost))
    }

    /// A call has ended. Deletes and changes that SQS did not confirm are tried again while their leases hold, but not after
    /// `last`; the letters are answered.
    pub(super) fn answered(
        &mut self,
        settled: &Settled,
        leases: &mut Leases<Key>,
        now: Duration,
        last: Option<Duration>,
    ) -> Vec<Answered> {
        self.outbox.answered(&settled.lanes);
        let mut answers = Vec::with_capacity(settled.keys.len());
        for &key in &settled.keys {
            let Some(pending) = self.pending.get_mut(&key) else { continue };
            let is_letter = matches!(pending.ask, Ask::Letter(_));
            let confirmed = settled.confirmed.contains(&key);
            if confirmed && !is_letter {
                leases.forget(key);
            }
            if !confirmed && !is_letter {
                let pause = FIRST_PAUSE.saturating_mul(1 << pending.tries.min(10)).min(LONGEST_PAUSE);
                pending.tries += 1;
                let in_time = |end: Duration| now + pause < end;
                if leases.until(key).is_some_and(in_time) && last.is_none_or(in_time) {
                    self.again.insert((now + pause, key));
                    continue;
                }
            }
            answers.extend(self.answer(key, confirmed));
        }
        answers
    }

    fn answer(&mut self, key: Key, confirmed: bool) -> Option<Answered> {
        let Pending { at, ask, .. } = self.pending.remove(&key)?;
        Some(Answered { key, at, kind: ask.kind(), confirmed })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// When the next call is due.
    pub(super) fn due_at(&self) -> Option<Duration> {
        let again = self.again.first().map(|(at, _)| *at);
        self.outbox.due_at().into_iter().chain(again).min()
    }
}

/// A call to be made.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) entries: Vec<Entry>,
    pub(super) lanes: Vec<Key>,
    /// When the first of its leases ends.
    pub(super) until: Duration,
}
