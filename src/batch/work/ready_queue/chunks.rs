//! Several messages of the queue that one call of a bulk handler takes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::{Phase, ReadyQueue};
use crate::batch::work::sheet::Sheet;
use crate::batch::work::slot::{Running, What};

impl ReadyQueue {
    /// Starts the messages that one call takes of the lanes, while there is time for them.
    pub(in crate::batch::work) fn next_chunk(
        &self,
        slot: usize,
        now: Instant,
        take: impl FnOnce(&mut VecDeque<Range<usize>>) -> Sheet,
    ) -> Option<Arc<Sheet>> {
        let mut state = self.state();
        let in_time = state.phase == Phase::Open && now < self.until;
        if !in_time || state.lanes.is_empty() {
            return None;
        }
        let sheet = Arc::new(take(&mut state.lanes));
        let running = Running { what: What::Chunk(Arc::clone(&sheet)), since: now };
        let slot = &mut state.slots[slot];
        (slot.running, slot.is_polled) = (Some(running), true);
        Some(sheet)
    }

    /// Starts another call for messages of the same chunk, and says whether there was time for one that takes so long.
    pub(in crate::batch::work) fn begin_again(&self, slot: usize, now: Instant, takes: Duration) -> bool {
        let mut state = self.state();
        let in_time = state.phase == Phase::Open && now + takes <= self.until;
        let slot = &mut state.slots[slot];
        (slot.waker, slot.is_cancelled, slot.is_polled) = (None, false, true);
        let Some(running) = slot.running.as_mut().filter(|_| in_time) else { return false };
        running.since = now;
        true
    }
}
