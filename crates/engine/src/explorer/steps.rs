//! Lists the steps that may happen next.

use std::rc::Rc;

use super::Consumes;
use super::world::{
    CallFate, CallProgress, Consumer, HandlerEnd, Left, Machine, Mood, SqsRequest, Step, UnderWay, World, at,
    names,
};
use crate::Time;

impl World {
    /// Lists the steps that may happen next.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let (mut time_waits, mut is_running) = (false, false);
        for (who, consumer) in self.consumers.iter().enumerate() {
            let who = who as u8;
            let is_asleep = consumer.is_asleep;
            let mut is_waiting = false;
            for (handler, running) in consumer.running.iter().enumerate() {
                let handler = handler as u8;
                let ends = |says| Step::Ends { who, handler, says };
                match running.mood {
                    Mood::Runs => {
                        is_running |= !is_asleep;
                        if !consumer.is_polled(running, self.now) {
                            continue;
                        }
                        steps.extend([HandlerEnd::Done, HandlerEnd::Fails].map(ends));
                        steps.extend(self.bounds.rejects.then(|| ends(HandlerEnd::Rejects)));
                        steps.extend((self.bounds.outages > 0).then(|| ends(HandlerEnd::Outage)));
                        steps.extend((running.facts.len() > 1).then(|| ends(HandlerEnd::DoneInPart)));
                    }
                    Mood::Canceled => {
                        is_waiting = true;
                        steps.extend([Step::IsCanceled { who, handler }, ends(HandlerEnd::Done)]);
                        if self.left.deaf > 0 {
                            steps.push(Step::Ignores { who, handler });
                        }
                    }
                    Mood::Deaf => steps.extend([HandlerEnd::Done, HandlerEnd::Fails].map(ends)),
                }
            }
            steps.extend(
                (0..consumer.blocked.len()).map(|blocked| Step::Returns { who, blocked: blocked as u8 }),
            );
            for (call, under_way) in consumer.calls.iter().enumerate() {
                let call = call as u8;
                let is_late = under_way.limit + consumer.began <= self.now;
                let may_stray = self.left.strays > 0 && !matches!(under_way.way, CallProgress::Acted(_));
                let mut goes: Vec<_> = match &under_way.way {
                    // A process that stood still may see the answer first.
                    CallProgress::Acted(_) if is_late && is_asleep => {
                        vec![CallFate::TimedOut, CallFate::Answered]
                    }
                    _ if is_late => vec![CallFate::TimedOut],
                    CallProgress::Acted(_) => vec![CallFate::Answered],
                    CallProgress::Slow | CallProgress::Fresh => vec![CallFate::Well],
                };
                goes.extend(may_stray.then_some(CallFate::Strays));
                match &under_way.what {
                    SqsRequest::Receive(poll) if !matches!(under_way.way, CallProgress::Acted(_)) => {
                        if !self.is_receivable {
                            continue;
                        }
                        is_waiting = true;
                        if self.left.losses > 0 {
                            goes.extend([CallFate::Lost, CallFate::Unanswered, CallFate::AnsweredLater]);
                        }
                        let most = poll.messages.min(self.histories.len()) as u8;
                        for goes in goes {
                            let counts = if matches!(goes, CallFate::Lost | CallFate::Strays) {
                                most..=most
                            } else {
                                1..=most
                            };
                            steps.extend(counts.map(|most| Step::Receives { who, call, most, goes }));
                        }
                        continue;
                    }
                    SqsRequest::Receive(_) => {}
                    SqsRequest::Settle { .. } | SqsRequest::Extend { .. } => {
                        let is_fresh = matches!(under_way.way, CallProgress::Fresh) && !is_late;
                        is_waiting |= is_fresh;
                        goes.extend((may_stray && is_fresh).then_some(CallFate::Repeated));
                        if is_fresh && self.left.losses > 0 {
                            goes.extend([
                                CallFate::Lost,
                                CallFate::Unanswered,
                                CallFate::AnsweredLater,
                                CallFate::Later,
                            ]);
                            let entries = under_way.facts().len();
                            if entries > 1 {
                                goes.extend((0..entries).map(|entry| CallFate::Without(entry as u8)));
                            }
                        }
                    }
                }
                is_waiting |= is_late;
                steps.extend(goes.into_iter().map(|goes| Step::Calls { who, call, goes }));
            }
            if consumer.consumes == Consumes::Sandbox && consumer.delivery.is_empty() && self.is_receivable {
                is_waiting = true;
                steps.extend((1..=self.histories.len() as u8).map(|most| Step::Delivers { who, most }));
            }
            let is_at_work = !consumer.leases.is_empty()
                || !consumer.delivery.is_empty()
                || consumer.calls.iter().any(|it| !it.is_parked());
            if self.left.kills > 0 && is_at_work {
                steps.push(Step::Kill { who });
            }
            if self.left.signals > 0 && consumer.consumes == Consumes::Worker {
                steps.push(Step::Signal { who });
            }
            if self.left.changes_of_places > 0 && consumer.consumes == Consumes::Worker {
                let others = [1, self.bounds.concurrency].into_iter().filter(|it| *it != consumer.places);
                steps.extend(others.map(|places| Step::Places { who, places: places as u8 }));
            }
            if is_asleep {
                steps.push(Step::Wake { who });
            } else if self.left.losses > 0 && is_at_work && consumer.consumes == Consumes::Worker {
                steps.push(Step::Sleep { who });
            }
            time_waits |= is_waiting && !is_asleep;
        }
        steps.extend((0..self.strays.len()).map(|stray| Step::Arrives { stray: stray as u8 }));
        if self.left.duplicates > 0 {
            let is_held = |&message: &usize| {
                let history = &self.histories[message];
                !history.is_gone && history.deliveries > 0 && history.leases[history.deliveries] > self.now
            };
            let held = (0..self.histories.len()).filter(is_held);
            steps.extend(held.map(|message| Step::Duplicates { message: message as u8 }));
        }
        time_waits |= is_running && self.left.patience == 0;
        if !time_waits && self.due().is_some() {
            steps.push(Step::Time { old_polls: false });
            let polls = |it: &Rc<Consumer>| it.calls.iter().any(UnderWay::is_parked);
            if self.left.losses > 0 && self.consumers.iter().any(polls) {
                steps.push(Step::Time { old_polls: true });
            }
        }
        steps
    }

    /// Returns the same world without further faults.
    pub(super) fn without_faults(&self) -> Self {
        let left = Left {
            losses: 0,
            kills: 0,
            signals: 0,
            deaf: 0,
            duplicates: 0,
            strays: 0,
            changes_of_places: 0,
            patience: u8::MAX,
        };
        Self { left, ..self.clone() }
    }

    /// Returns the next step if every process acts as soon as it can.
    pub(super) fn good_step(&self) -> Option<Step> {
        let rank = |step: &Step| match step {
            Step::Wake { .. } => 0,
            Step::Returns { .. } | Step::IsCanceled { .. } => 1,
            Step::Ends { says: HandlerEnd::Done, .. } => 2,
            Step::Calls { goes: CallFate::Well | CallFate::Answered, .. } => 3,
            Step::Calls { goes: CallFate::TimedOut, .. } => 4,
            Step::Receives { most, goes: CallFate::Well | CallFate::Answered, .. }
            | Step::Delivers { most, .. } => 100 - most,
            Step::Receives { goes: CallFate::TimedOut, .. } => 150,
            Step::Time { old_polls: false } => 200,
            _ => u8::MAX,
        };
        self.steps().into_iter().filter(|step| rank(step) < u8::MAX).min_by_key(rank)
    }

    /// Returns when something is due.
    pub(super) fn due(&self) -> Option<Time> {
        let queue = self.queues.next_change(names(self.bounds).0, at(self.now));
        let queue = queue.map(|time| time.duration_since(at(Time::ZERO)).unwrap());
        let of_consumer = |it: &Rc<Consumer>| {
            if it.is_asleep {
                return None;
            }
            let calls = it.calls.iter().filter(|it| !it.is_parked()).map(|it| it.limit);
            let wake = it.engine.as_ref().and_then(Machine::wake_at);
            // Only the end of its poll may keep a worker.
            let polls = it.calls.iter().filter_map(|call| match &call.what {
                SqsRequest::Receive(poll) if it.is_told && call.is_parked() => Some(poll.sent + poll.wait),
                _ => None,
            });
            let times = calls.chain(wake).chain(polls).map(|time| time + it.began);
            times.filter(|time| *time > self.now).min()
        };
        let consumers = self.consumers.iter().filter_map(of_consumer);
        consumers.chain(queue).filter(|time| *time > self.now).min()
    }
}
