//! Waits for another transaction, but only on a message's last delivery, because a deferral would end the message.
#![expect(clippy::disallowed_methods, reason = "it reads the clock")]

use std::time::Duration;

use redrive::Message;
use tokio::time::{Instant, sleep};

/// Pause between checks if the other transaction has ended.
const PAUSE: Duration = Duration::from_millis(250);
/// Time that is reserved for the effect.
const FOR_THE_EFFECT: Duration = Duration::from_secs(2);

/// Waits a moment for another transaction. Returns false at once if the message has other deliveries, or no time left.
pub(crate) async fn wait_for_other<T>(message: &Message<T>) -> bool {
    let left = message.deadline.saturating_duration_since(Instant::now().into_std());
    let waits = message.is_last_attempt() && left > FOR_THE_EFFECT + PAUSE;
    if waits {
        sleep(PAUSE).await;
    }
    waits
}
