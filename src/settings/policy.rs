//! The settings as the engine takes them.

use redrive_engine::decide::Policy;
use redrive_engine::{DOUBLING, LastDelivery};
use redrive_sqs::is_fifo;

use super::Settings;

/// A message that has ended two processes does so on its third delivery.
const SUSPECTS_FROM: u32 = 3;

impl Settings {
    /// The rules for the batches of a queue.
    pub(crate) fn policy(&self, source: &str, has_dead_letter_queue: bool) -> Policy<'_> {
        let is_fifo = is_fifo(source);
        let default = if is_fifo { LastDelivery::DeadLetter } else { LastDelivery::RedrivePolicy };
        Policy {
            backoff: self.backoff.as_ref().unwrap_or(&DOUBLING),
            overrides: self.overrides.unwrap_or_default(),
            is_fifo,
            longest: self.longest(),
            max_receive_count: self.max_receive_count.as_deref().copied(),
            last_delivery: self.last_delivery.unwrap_or(default),
            on_panic: self.on_panic.unwrap_or_default(),
            on_malformed: self.on_malformed.unwrap_or_default(),
            has_dead_letter_queue,
            outage_horizon: self.outage_horizon(),
            names_dependencies: false,
            has_store: false,
            suspects_from: if self.outlives_handlers { u32::MAX } else { SUSPECTS_FROM },
            ends: false,
        }
    }
}
