//! What must hold of every run of workers, whatever chance did to it.

use std::time::Duration;

use redrive_local::kit::TestAws;
use redrive_local::{AttributeValue, QueueEvent};

use super::log::{Call, End, Log, Run};
use super::plan::Plan;
use crate::simulation::checks::{Checked, ensure};
use crate::simulation::scenario::Says;

/// A canceled handler has ended by then.
const CANCEL: Duration = Duration::from_millis(200);
/// Settling after the drain.
const SETTLE: Duration = Duration::from_millis(3_100);

pub(super) struct History<'a> {
    pub(super) plan: &'a Plan,
    pub(super) log: &'a Log,
    pub(super) events: Vec<(Duration, QueueEvent)>,
}

impl<'a> History<'a> {
    pub(super) fn new(plan: &'a Plan, log: &'a Log, aws: &TestAws) -> Self {
        Self { plan, log, events: aws.events() }
    }

    pub(super) fn check(&self) -> Checked {
        for message in 0..self.log.ids.len() {
            self.is_not_lost(message).map_err(|problem| format!("message {message}: {problem}"))?;
        }
        for (at, run) in self.log.runs.iter().enumerate() {
            let checked = self.in_order(run).and_then(|()| self.ends_with_its_lease(run));
            checked
                .and_then(|()| self.is_not_repeated(run))
                .map_err(|problem| format!("run {at}: {problem}"))?;
        }
        for (at, call) in self.log.calls.iter().enumerate() {
            let settles = self.within_the_lease(call).and_then(|()| self.after_the_last_extension(at, call));
            settles.map_err(|problem| format!("call {at}: {problem}"))?;
        }
        self.log.ends.iter().try_for_each(|(life, end)| {
            self.ends_in_time(*life, end).map_err(|problem| format!("worker {life}: {problem}"))
        })?;
        self.takes_no_more_than_it_may()
    }

    pub(super) fn visibility(&self) -> Duration {
        Duration::from_secs(self.plan.visibility)
    }

    fn gone_at(&self, message: usize) -> Option<Duration> {
        let id = &self.log.ids[message];
        self.events.iter().find_map(|(at, event)| match event {
            QueueEvent::Deleted { queue, message_id } | QueueEvent::Moved { queue, message_id, .. } => {
                (message_id == id && !queue.contains("dead")).then_some(*at)
            }
            _ => None,
        })
    }

    pub(super) fn letters(&self, message: usize) -> impl Iterator<Item = Duration> {
        let id = &self.log.ids[message];
        self.events.iter().filter_map(move |(at, event)| {
            let QueueEvent::Sent { queue, attributes, .. } = event else { return None };
            let AttributeValue::Text(note) = &attributes.get("redrive.dead-letter")?.value else {
                return None;
            };
            (queue.contains("dead") && note.contains(id)).then_some(*at)
        })
    }

    /// What is deleted was done, or has a letter.
    fn is_not_lost(&self, message: usize) -> Checked {
        let Some(gone) = self.gone_at(message) else { return Err("it is left".to_owned()) };
        let id = &self.log.ids[message];
        let is_moved =
            |event: &QueueEvent| matches!(event, QueueEvent::Moved { message_id, .. } if message_id == id);
        let is_moved = self.events.iter().any(|(_, event)| is_moved(event));
        let is_done = |run: &Run| {
            run.message == message
                && run.said.is_some_and(Says::is_done)
                && run.ended.is_some_and(|at| at <= gone)
        };
        let is_done = self.log.runs.iter().any(is_done);
        let has_letter = self.letters(message).any(|at| at <= gone);
        let is_taken_away = self.log.taken_away.contains(&message);
        ensure(is_moved || is_done || has_letter || is_taken_away, || {
            format!("it is deleted after {gone:?}, neither done nor in a letter")
        })
    }

    /// A message of a group runs once all before it are gone.
    fn in_order(&self, run: &Run) -> Checked {
        if !self.plan.fifo {
            return Ok(());
        }
        let group = self.plan.messages[run.message].group;
        let earlier = (0..run.message).filter(|&it| self.plan.messages[it].group == group);
        for earlier in earlier {
            let is_gone = self.gone_at(earlier).is_some_and(|at| at <= run.began);
            // A bulk handler has several of a group in a call, or in calls that follow one another.
            let lets_it_go_on = |it: &Run| {
                let is_done =
                    it.said.is_some_and(Says::is_done) && it.ended.is_some_and(|at| at <= run.began);
                it.message == earlier && it.life == run.life && (it.call == run.call || is_done)
            };
            let has_letter = self.letters(earlier).any(|at| at <= run.began);
            let goes_on = has_letter || self.log.runs.iter().any(lets_it_go_on);
            ensure(is_gone || (self.plan.chunk.is_some() && goes_on), || {
                format!("message {} overtook message {earlier}", run.message)
            })?;
        }
        Ok(())
    }

    fn ends_with_its_lease(&self, run: &Run) -> Checked {
        let ended = run.ended.ok_or("a handler is still there")?;
        if self.plan.chunk.is_some() {
            return Ok(());
        }
        let handle = self.log.handle(run.life, run.message, run.began).ok_or("it was never received")?;
        let until = self.log.until(&handle.handle, self.visibility(), ended);
        ensure(ended <= until + CANCEL, || format!("its lease ended at {until:?}, it at {ended:?}"))
    }

    /// What is done within its lease does not come back, unless a fault explains it.
    fn is_not_repeated(&self, run: &Run) -> Checked {
        let (Some(true), Some(ended)) = (run.said.map(Says::is_done), run.ended) else { return Ok(()) };
        let again = self.log.runs.iter().find(|it| it.message == run.message && it.began > ended);
        let Some(again) = again else { return Ok(()) };
        let handle = self.log.handle(run.life, run.message, run.began).ok_or("it was never received")?;
        let until = self.log.until(&handle.handle, self.visibility(), ended);
        let is_late = ended + CANCEL + 3 * self.plan.latency > until;
        let is_killed = self.log.ends.get(&run.life).is_some_and(|end| end.result.is_none());
        let id = &self.log.ids[run.message];
        let entries = self.log.calls.iter().flat_map(|call| &call.entries);
        let handles: Vec<_> = entries.filter(|it| it.subject == *id).map(|it| &it.handle).collect();
        let is_disturbed = self.log.calls.iter().any(|call| {
            let is_of_it = call.entries.iter().any(|it| it.subject == *id || handles.contains(&&it.handle));
            call.fault.is_some() && call.operation != "ReceiveMessage" && call.sent < again.began && is_of_it
        });
        ensure(is_late || is_killed || is_disturbed, || format!("it was done, and runs again: {again:?}"))
    }

    /// No delete, no change and no letter after a lease has ended.
    fn within_the_lease(&self, call: &Call) -> Checked {
        if matches!(call.operation.as_str(), "ReceiveMessage" | "GetQueueAttributes") {
            return Ok(());
        }
        for entry in &call.entries {
            let number = || self.log.ids.iter().position(|id| *id == entry.subject);
            let handle = match entry.handle.as_str() {
                "" => {
                    &self
                        .log
                        .handle(call.life, number().ok_or("a letter without a note")?, call.sent)
                        .unwrap()
                        .handle
                }
                handle => handle,
            };
            let until = self.log.until(handle, self.visibility(), call.sent);
            ensure(call.sent <= until, || format!("the lease ended at {until:?}: {call:?}"))?;
        }
        Ok(())
    }

    fn extends(&self, call: &Call, handle: &str) -> bool {
        let is_it = |timeout: Option<u64>| timeout == Some(self.plan.visibility);
        call.entries.iter().any(|it| it.handle == handle && is_it(it.timeout))
    }

    /// A message whose delete or delay is on its way is never extended.
    fn after_the_last_extension(&self, at: usize, call: &Call) -> Checked {
        if call.operation == "ReceiveMessage" || call.operation == "GetQueueAttributes" {
            return Ok(());
        }
        for entry in call.entries.iter().filter(|it| !it.handle.is_empty()) {
            if entry.timeout == Some(self.plan.visibility) {
                continue;
            }
            let later = self.log.calls[at + 1..].iter().find(|it| self.extends(it, &entry.handle));
            ensure(later.is_none(), || format!("{call:?} is followed by {later:?}"))?;
            if entry.timeout.is_none() {
                // An extension undoes no delete.
                continue;
            }
            // Nor does one that SQS has answered.
            let open = self.log.calls[..at].iter().find(|it| {
                let patience = Duration::from_secs(2).min(Duration::from_secs(self.plan.visibility) / 4);
                let times_out = it.sent + patience;
                let answered = it.answered.unwrap_or(times_out).min(times_out);
                self.extends(it, &entry.handle) && answered > call.sent
            });
            ensure(open.is_none(), || format!("{call:?} overtakes {open:?}"))?;
        }
        Ok(())
    }

    fn ends_in_time(&self, life: usize, end: &End) -> Checked {
        let Some(result) = &end.result else { return Ok(()) };
        let took = end.ended - end.told;
        ensure(took <= self.plan.drain + SETTLE, || format!("it ended {took:?} after it was told to"))?;
        let is_disturbed = self.log.calls.iter().any(|call| call.life == life && call.fault.is_some());
        let is_disturbed = is_disturbed || !self.log.taken_away.is_empty();
        ensure(is_disturbed || result.is_ok(), || format!("it was not disturbed, but says {result:?}"))
    }

    fn takes_no_more_than_it_may(&self) -> Checked {
        let most = self.plan.concurrency * self.plan.chunk.unwrap_or(1);
        for run in &self.log.runs {
            let overlaps = |it: &&Run| {
                it.life == run.life
                    && it.began <= run.began
                    && it.ended.is_some_and(|ended| ended > run.began)
            };
            let at_once = self.log.runs.iter().filter(overlaps).count();
            ensure(at_once <= most, || format!("{at_once} messages at once, allowed: {most}"))?;
        }
        Ok(())
    }
}
