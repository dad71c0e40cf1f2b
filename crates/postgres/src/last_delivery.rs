//! How long a message waits for another transaction: only on its last delivery, because a deferral would end it.
#![expect(clippy::disallowed_methods, reason = "it reads the clock")]

use std::time::Duration;

use redrive::Message;
use tokio::time::{Instant, sleep};

/// How often the inbox looks whether the other transaction has ended.
const PAUSE: Duration = Duration::from_millis(250);
/// The time that is kept for the effect.
const FOR_THE_EFFECT: Duration = Duration::from_secs(2);

/// Waits a moment for another transaction. Returns false at once if the message has other deliveries, or no time left.
pub(crate) async fn waits<T>(message: &Message<T>) -> bool {
    let left = message.deadline.saturating_duration_since(Instant::now().into_std());
    let waits = message.is_last_attempt() && left > FOR_THE_EFFECT + PAUSE;
    if waits {
        sleep(PAUSE).await;
    }
    waits
}
