//! The end of a worker: what runs may end until the drain's limit; then it is canceled and handed back.

use std::time::Duration;

use tracing::{info, warn};

use super::Drive;
use crate::error::{self, Error};
use crate::worker::hold::{Kind, Notice};

/// How long settling may take after the limit.
const TO_SETTLE: Duration = Duration::from_secs(3);
/// How long too many threads may be blocked: handlers that block for a while, as where a driver does, are slow, not stuck.
const BLOCKED: Duration = Duration::from_secs(10);

pub(super) enum Phase {
    Running,
    Draining {
        until: Duration,
        why: Option<Error>,
        unconfirmed: usize,
    },
    /// Handlers are canceled.
    Closing {
        until: Duration,
        why: Option<Error>,
        unconfirmed: usize,
    },
}

impl Phase {
    /// Whether one more message may be begun that has no delivery left.
    pub(super) const fn lets_the_last_attempt_begin(&self) -> bool {
        matches!(self, Self::Running | Self::Draining { .. })
    }

    pub(super) const fn is_ending(&self) -> bool {
        !matches!(self, Self::Running)
    }

    /// When the next phase begins.
    pub(super) const fn due_at(&self) -> Option<Duration> {
        match self {
            Self::Running => None,
            Self::Draining { until, .. } | Self::Closing { until, .. } => Some(*until),
        }
    }

    /// When the last call must have been answered.
    pub(super) fn settle_until(&self) -> Option<Duration> {
        match self {
            Self::Running => None,
            Self::Draining { until, .. } => Some(*until + TO_SETTLE),
            Self::Closing { until, .. } => Some(*until),
        }
    }

    /// So many messages were not settled, since their handlers block threads.
    pub(super) fn left(&mut self, messages: usize) {
        if let Self::Draining { unconfirmed, .. } | Self::Closing { unconfirmed, .. } = self {
            *unconfirmed += messages;
        }
    }

    /// A message whose letter was not confirmed is delayed instead.
    pub(super) fn answered(&mut self, kind: Kind, confirmed: bool) {
        if let Self::Draining { unconfirmed, .. } | Self::Closing { unconfirmed, .. } = self {
            *unconfirmed += usize::from(!confirmed && kind != Kind::Letter);
        }
    }
}

impl<H> Drive<'_, H> {
    /// A signal: the first begins the end, the second ends at once.
    pub(super) fn told(&mut self, signal: &'static str) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_told, true) {
            let left = self.held.len();
            return Err(Error(error::Kind::AtOnce(format!(
                "{signal} came a second time: the worker ends at once, with {left} messages in hand"
            ))));
        }
        info!(signal, in_hand = self.in_hand, drain = ?self.worker.drain, "the worker ends");
        // It may be ending by itself.
        if !self.phase.is_ending() {
            self.drain(None);
        }
        Ok(())
    }

    fn drain(&mut self, why: Option<Error>) {
        let now = self.clock.now();
        let until = now + self.worker.drain;
        self.phase = Phase::Draining { until, why, unconfirmed: 0 };
        self.worker.vitals.drains();
        self.notify(|| Notice::Stop);
        self.hand_back_gathered(true, now);
    }

    /// Batches that have ended hear nothing.
    fn notify(&self, notice: impl Fn() -> Notice) {
        self.batches.values().for_each(|batch| drop(batch.notices.send(notice())));
    }

    /// Begins the next phase if it is due; the result once the worker has ended.
    pub(super) fn end(&mut self, now: Duration) -> Option<Result<bool, Error>> {
        if let Phase::Running = self.phase {
            let flow = &self.worker.flow;
            let why = flow.shutdown.and_then(|shutdown| shutdown.reason());
            self.blocked_since = flow.host.is_exhausted().then(|| self.blocked_since.unwrap_or(now));
            let is_stuck = self.blocked_since.is_some_and(|since| since + BLOCKED <= now);
            let why = why.or_else(|| is_stuck.then(|| Error(error::Kind::Blocked)));
            if let Some(why) = why {
                warn!(error = %why, in_hand = self.in_hand, "the worker ends");
                self.drain(Some(why));
            }
            return None;
        }
        let is_settled = self.pollers.under_way() == 0
            && self.batches.is_empty()
            && self.gathered.is_empty()
            && self.settler.is_empty();
        let was_closed = matches!(self.phase, Phase::Closing { .. });
        match &mut self.phase {
            Phase::Running => None,
            Phase::Draining { why, unconfirmed, .. } | Phase::Closing { why, unconfirmed, .. }
                if is_settled =>
            {
                Some(match (why.take(), *unconfirmed) {
                    (Some(why), _) => Err(why),
                    (None, 0) => Ok(was_closed),
                    (None, messages) => Err(unsettled(messages)),
                })
            }
            Phase::Draining { until, why, unconfirmed } if *until <= now => {
                warn!(in_hand = self.in_hand, "REDRIVE_DRAIN has passed: handlers are canceled");
                self.phase =
                    Phase::Closing { until: *until + TO_SETTLE, why: why.take(), unconfirmed: *unconfirmed };
                self.notify(|| Notice::Close);
                self.hand_back_gathered(false, now);
                None
            }
            Phase::Closing { until, why, unconfirmed } if *until <= now => {
                let messages = self.held.len() + *unconfirmed;
                Some(Err(why.take().unwrap_or_else(|| match messages {
                    0 => Error::worker("a poll was not answered before the worker ended: what it may bring comes back after its visibility timeout".to_owned()),
                    messages => unsettled(messages),
                })))
            }
            Phase::Draining { .. } | Phase::Closing { .. } => None,
        }
    }
}

fn unsettled(messages: usize) -> Error {
    let (are, they_come) =
        if messages == 1 { ("message was", "it comes") } else { ("messages were", "they come") };
    Error::worker(format!(
        "{messages} {are} not settled before the worker ended: {they_come} back after the visibility timeout"
    ))
}
