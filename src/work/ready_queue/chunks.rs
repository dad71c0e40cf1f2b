//! Several messages of a batch that one call of a bulk handler takes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::ReadyQueue;
use crate::work::Begun;
use crate::work::sheet::Sheet;
use crate::work::slot::{Running, What};

impl ReadyQueue {
    /// Starts the messages that one call takes of the lanes of a batch, while there is time for them.
    pub(in crate::work) fn next_chunk(
        &self,
        slot: usize,
        now: Instant,
        take: impl FnOnce(&Begun, &mut VecDeque<Range<usize>>) -> Sheet,
    ) -> Option<(Arc<Sheet>, Arc<Begun>)> {
        let mut state = self.state();
        let at = state.startable(now)?;
        let (of, lanes) = state.lanes.get_mut(at)?;
        let (of, sheet) = (Arc::clone(of), Arc::new(take(of, lanes)));
        if lanes.is_empty() {
            state.lanes.remove(at);
        }
        let what = What::Chunk(Arc::clone(&sheet));
        let running = Running { of: Arc::clone(&of), what, since: now };
        let slot = &mut state.slots[slot];
        (slot.running, slot.is_polled) = (Some(running), true);
        Some((sheet, of))
    }

    /// Starts another call for messages of the same chunk, and says whether there was time for one that takes so long.
    pub(in crate::work) fn begin_again(
        &self,
        slot: usize,
        of: &Begun,
        now: Instant,
        takes: Duration,
    ) -> bool {
        let mut state = self.state();
        let in_time = !state.is_closed && of.phase.is_open() && now + takes <= of.until;
        let slot = &mut state.slots[slot];
        (slot.waker, slot.is_cancelled, slot.is_polled) = (None, false, true);
        let Some(running) = slot.running.as_mut().filter(|_| in_time) else { return false };
        running.since = now;
        true
    }
}
