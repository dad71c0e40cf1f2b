//! Follows a batch while it runs.

use tokio::time::{Instant, sleep_until};

use super::Flow;
use super::progress::{Progress, Step};
use super::settling::{Halt, Settling};
use crate::Handler;
use crate::batch::work::{GRACE, Input, ReadyQueue, Work};
use crate::error::{Error, Kind};

impl Flow<'_> {
    /// Runs the batch until every message that was started has ended and is settled, or time is up.
    pub(super) async fn follow<'a, H, M>(
        &self,
        work: &Work<H, M>,
        batch: &mut Progress<'a>,
        settling: &mut Settling<'a>,
        (until, settle_until): (Instant, Instant),
    ) where
        H: Handler<M>,
        M: Input,
    {
        // Set when no more messages are started: the time at which running handlers are given up.
        let mut closed: Option<Instant> = None;
        let mut is_over = false;
        let mut is_told = false;
        work.polled_inline().await;
        loop {
            let now = Instant::now();
            let (worked, is_idle) = work.queue().take();
            batch.note(worked);
            if is_told && !batch.has_a_last_attempt() {
                batch.hand_back();
                work.queue().stop();
            }
            if let Some(shutdown) = self.shutdown
                && self.streak.is_too_long()
            {
                shutdown.begin(Error(Kind::Panics));
                work.queue().stop();
            }
            if let Some(given_up_at) = closed
                && !is_over
                && (is_idle || now >= given_up_at)
            {
                is_over = true;
                self.end(work.queue(), batch);
            }
            for step in std::mem::take(&mut batch.steps) {
                match step {
                    Step::GoOn(rest) => work.add(vec![batch.head(rest)]),
                    Step::Letter { .. } | Step::Change(_) | Step::Delete(_) => {
                        settling.add(&step, batch, now)
                    }
                }
            }
            let is_quiet = is_over || (is_idle && work.queue().is_idle());
            settling.send(batch, now, is_quiet);
            if is_quiet && settling.is_done() {
                if is_over {
                    return;
                }
                // Only messages that could not be started are left.
                closed = Some(now);
                batch.close();
                work.queue().close();
                continue;
            }
            let open = closed.is_none().then_some(until);
            let close_by = closed.filter(|_| !is_over);
            let check_at = work.check_at(now).filter(|_| closed.is_none());
            let next = [open, close_by, check_at, settling.due_at()].into_iter().flatten().min();
            tokio::select! {
                biased;
                () = work.changed(), if !is_quiet => {}
                halt = settling.answered(batch), if settling.is_under_way() => match halt {
                    Some(Halt::Stop) => is_told = true,
                    None => {}
                    Some(Halt::Interrupt | Halt::Lost) if closed.is_some() => {}
                    Some(halt) => {
                        if halt == Halt::Interrupt {
                            batch.interrupt();
                        }
                        closed = Some(Instant::now() + GRACE);
                        batch.close();
                        work.queue().close();
                    }
                },
                () = sleep_until(next.unwrap_or(settle_until)) => {
                    let now = Instant::now();
                    if closed.is_none() && now >= until {
                        closed = Some(now + GRACE);
                        batch.close();
                        work.queue().close();
                    } else if closed.is_none() {
                        work.check(now);
                    }
                }
            }
        }
    }

    /// Gives up the messages that still run, and releases those that were not started.
    fn end(&self, queue: &ReadyQueue, batch: &mut Progress<'_>) {
        batch.note(queue.take().0);
        let (given_up, left) = (queue.give_up(), queue.not_started());
        let all_have_run = given_up.is_empty() && left.is_empty();
        if let Some(shutdown) = self.shutdown
            && !all_have_run
            && !batch.is_of_worker()
            && self.host.is_exhausted()
        {
            shutdown.begin(Error(Kind::Blocked));
            batch.end_process();
        }
        batch.note(given_up);
        left.into_iter().for_each(|rest| batch.release(rest));
        batch.release_untouched();
    }
}
