//! Performs the commands of engines, as the shells do, and checks what must hold when a handler begins.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use redrive_local::QueueEvent;
use redrive_local::rules::settle;

use super::Consumes;
use super::world::{
    CallProgress, Checked, Consumer, ENDLESS, Fact, HandlerEnd, Machine, Mood, OF_THE_QUEUE, Running,
    SETTLE_UNTIL, SqsRequest, UNTIL, UnderWay, World, at, names, policy,
};
use crate::batch::Batch;
use crate::breaker::OPEN_FOR;
use crate::keys::{BatchKey, MessageKey};
use crate::{BatchLimits, Call, Command, Event, Exit, LambdaEngine, Message, Outcome, Worked};

impl World {
    pub(super) fn deliver(&mut self, who: usize, most: usize) -> Checked {
        let delivery = self.receive(most, OF_THE_QUEUE)?;
        if delivery.is_empty() {
            return Ok(());
        }
        let facts: Vec<_> = delivery.iter().map(|(_, fact)| Arc::clone(fact)).collect();
        let (bounds, now) = (self.bounds, self.now);
        let consumer = self.consumer(who);
        (consumer.began, consumer.delivery) = (now, delivery);
        let limits = BatchLimits {
            epoch: now,
            until: UNTIL,
            settle_until: SETTLE_UNTIL,
            has_client: true,
            ends_process: true,
        };
        let (facts, shared) = (facts.into_iter(), &mut consumer.shared);
        let mut engine = LambdaEngine::of_batch(facts, bounds.is_fifo, policy(bounds), limits, shared, 1);
        std::mem::swap(&mut engine.context.shared, shared);
        consumer.engine = Some(Machine::Sandbox(engine));
        self.drain(who)
    }

    /// Lets the function respond, and the mapping delete the messages that it may.
    pub(super) fn respond(&mut self, who: usize, failed: &[bool]) -> Checked {
        let consumer = self.consumer(who);
        let (batch, facts): (Vec<_>, Vec<_>) = std::mem::take(&mut consumer.delivery).into_iter().unzip();
        if let Some(engine) = consumer.engine.take() {
            consumer.shared = engine.shared().clone();
        }
        consumer.ending.clear();
        consumer.batches.clear();
        if !consumer.calls.is_empty() || !consumer.running.is_empty() {
            return Err("the function responds while a handler or a call is under way".to_owned());
        }
        for (fact, _) in facts.iter().zip(failed).filter(|(_, failed)| !**failed) {
            self.may_settle(fact, "deleted")?;
        }
        let failed = batch.iter().zip(failed).filter(|(_, failed)| **failed);
        let failed: Vec<_> =
            failed.map(|(message, _)| format!(r#"{{"itemIdentifier":"{}"}}"#, message.message_id)).collect();
        let response = format!(r#"{{"batchItemFailures":[{}]}}"#, failed.join(","));
        let (source, now) = (names(self.bounds).0, at(self.now));
        settle(self.queues(), source, &batch, response.as_bytes(), now)?;
        for event in self.queues().take_events() {
            let QueueEvent::Deleted { message_id, .. } = event else { continue };
            self.is_deleted(self.message_of(&message_id))?;
        }
        self.look_at_queue();
        Ok(())
    }

    pub(super) fn on(&mut self, who: usize, event: Event<Arc<Fact>>) -> Checked {
        let now = self.now;
        let consumer = self.consumer(who);
        let now = now - consumer.began;
        consumer.is_asleep = false;
        if let Some(engine) = &mut consumer.engine {
            engine.on(event, now);
        }
        self.drain(who)
    }

    /// Performs the engine's commands, as the shells do.
    pub(super) fn drain(&mut self, who: usize) -> Checked {
        for _ in 0..ENDLESS {
            let now = self.now - self.consumers[who].began;
            let consumer = self.consumer(who);
            let Some(engine) = &mut consumer.engine else { return Ok(()) };
            if let Some(command) = engine.next(now) {
                self.perform(who, command)?;
                continue;
            }
            // A second report would change nothing.
            let is_open =
                |engine: &Machine, key: &BatchKey| engine.batches().get(key).is_some_and(Batch::is_open);
            let runs = |key: &BatchKey| consumer.running.iter().any(|it| it.batch == *key);
            let idle = consumer.ending.iter().find(|key| !runs(key) && is_open(engine, key));
            let Some(&idle) = idle else {
                if engine.wake_at().is_some_and(|at| at <= now) {
                    return Err(format!("{} wants to be woken at once, for nothing", self.name(who)));
                }
                return Ok(());
            };
            engine.on(Event::Idle(idle), now);
        }
        Err(format!("{} does not come to rest", self.name(who)))
    }

    pub(super) fn perform(&mut self, who: usize, command: Command) -> Checked {
        match command {
            Command::Begin { batch, leases, order, .. } => {
                let consumer = self.consumer(who);
                let place = |&place: &usize| match consumer.consumes {
                    Consumes::Worker => Arc::clone(&consumer.leases[&leases[place]]),
                    Consumes::Sandbox => Arc::clone(&consumer.delivery[place].1),
                };
                let facts = order.iter().map(place).collect();
                consumer.batches.insert(batch, facts);
            }
            Command::Run { batch, lanes } => {
                let lanes = lanes.into_iter().map(|lane| (batch, lane));
                self.consumer(who).lanes.extend(lanes);
                self.begin(who)?;
            }
            Command::Withdraw { batch, places } => {
                let mut worked = Vec::new();
                self.consumer(who).lanes.retain(|(of, lane)| {
                    let is_held = *of == batch && places.contains(&lane.start);
                    let key = MessageKey { batch, at: lane.start };
                    worked.extend(is_held.then_some(Worked {
                        key,
                        outcome: Outcome::BreakerOpen,
                        ran: None,
                    }));
                    !is_held
                });
                let now = self.now - self.consumers[who].began;
                if let Some(engine) = self.consumer(who).engine.as_mut().filter(|_| !worked.is_empty()) {
                    engine.on(Event::Ended(worked), now);
                }
            }
            Command::Stop(batch) => self.consumer(who).stop(batch),
            Command::Cancel(batch) => {
                let consumer = self.consumer(who);
                consumer.stop(batch);
                for running in
                    consumer.running.iter_mut().filter(|it| it.batch == batch && it.mood == Mood::Runs)
                {
                    running.mood = Mood::Canceled;
                }
                self.say(|it| format!("{} cancels", it.name(who)));
            }
            Command::GiveUp(batch) => {
                let now = self.now - self.consumers[who].began;
                let consumer = self.consumer(who);
                consumer.stop(batch);
                let mut worked = Vec::new();
                while let Some(place) = consumer.running.iter().position(|it| it.batch == batch) {
                    let running = consumer.running.remove(place);
                    let is_stuck = running.mood != Mood::Canceled;
                    for (at, fact) in running.places().zip(running.facts.clone()) {
                        let outcome = if is_stuck { Outcome::Stuck } else { Outcome::TimedOut };
                        consumer.blocked.extend(is_stuck.then_some((batch, fact)));
                        worked.push(Worked { key: MessageKey { batch, at }, outcome, ran: None });
                    }
                }
                if let Some(engine) = &mut consumer.engine {
                    engine.on(Event::GivenUp { batch, worked }, now);
                }
                self.begin(who)?;
            }
            Command::Call(call) => self.calls(who, call)?,
            Command::Receive(poll) => {
                let limit = poll.sent + poll.wait + Duration::from_secs(5);
                self.consumer(who).calls.push(UnderWay {
                    what: SqsRequest::Receive(poll),
                    way: CallProgress::Fresh,
                    limit,
                });
                self.fits(who)?;
            }
            Command::Lease(most) => {
                let (lease, now) = (self.lease(most), self.now - self.consumers[who].began);
                if let Some(engine) = &mut self.consumer(who).engine {
                    engine.on(Event::Leased(Ok(lease)), now);
                }
            }
            Command::Extend(leases) => {
                let asked = self.now - self.consumers[who].began;
                let limit = asked + Duration::from_secs(2).min(self.bounds.visibility / 4);
                let consumer = self.consumer(who);
                let facts = leases.iter().filter_map(|(lease, _)| consumer.leases.get(lease).map(Arc::clone));
                let facts: Vec<_> = facts.collect();
                if facts.len() < leases.len() {
                    return Err("a lease is extended that was forgotten".to_owned());
                }
                let what = SqsRequest::Extend { asked, leases, facts };
                consumer.calls.push(UnderWay { what, way: CallProgress::Fresh, limit });
            }
            Command::Forget(lease) => drop(self.consumer(who).leases.remove(&lease)),
            Command::Report { batch, settled } => match self.consumers[who].consumes {
                Consumes::Worker => {
                    let consumer = self.consumer(who);
                    consumer.ending.retain(|it| *it != batch);
                    consumer.batches.remove(&batch);
                }
                Consumes::Sandbox => {
                    let failed: Vec<_> = settled.iter().map(|settled| !settled.is_over()).collect();
                    let suspects_from = self.bounds.suspects_from;
                    let consumer = self.consumer(who);
                    let facts = consumer.delivery.iter().map(|(_, fact)| fact).zip(&settled);
                    let suspects = facts.filter(|(fact, _)| fact.attempt >= suspects_from);
                    let ran: Vec<_> = suspects.map(|(_, settled)| !settled.outcome.never_ran()).collect();
                    consumer.has_outlived |= !ran.is_empty() && ran.iter().all(|ran| *ran);
                    self.respond(who, &failed)?;
                }
            },
            Command::Note(_) | Command::EndProcess(_) => {}
            Command::Exit(exit) => {
                let consumer = &self.consumers[who];
                let settles = |it: &UnderWay| matches!(it.what, SqsRequest::Settle { .. });
                let is_busy = !consumer.running.is_empty() || consumer.calls.iter().any(settles);
                if matches!(exit, Exit::Settled { .. }) && is_busy {
                    return Err(format!("{} ends while a handler or a call is under way", self.name(who)));
                }
                self.say(|it| format!("{} ends: {exit:?}", it.name(who)));
                self.replace(who)?;
            }
        }
        Ok(())
    }

    pub(super) fn calls(&mut self, who: usize, call: Call) -> Checked {
        let consumer = &self.consumers[who];
        let Some(engine) = &consumer.engine else { return Ok(()) };
        let mut facts = Vec::new();
        for (key, _) in &call.messages {
            let Some(Message { facts: fact, tries, .. }) = engine.message(*key) else {
                return Err("a call is made for a message that is forgotten".to_owned());
            };
            let tries = *tries;
            if tries > 8 {
                return Err(format!("SQS is asked {tries} times to settle m{}", fact.message + 1));
            }
            let kinds = consumer.calls.iter().filter_map(|it| match &it.what {
                SqsRequest::Settle { call, .. } => Some(call),
                _ => None,
            });
            if kinds.flat_map(|call| &call.messages).any(|(other, _)| other == key) {
                return Err(format!("two calls are under way for m{}", fact.message + 1));
            }
            facts.push(Arc::clone(fact));
        }
        let limit = call.until;
        self.say(|it| format!("{} calls SQS: {}", it.name(who), super::words::call(&call, &facts)));
        let what = SqsRequest::Settle { call, facts };
        self.consumer(who).calls.push(UnderWay { what, way: CallProgress::Fresh, limit });
        Ok(())
    }

    /// Replaces the process of a consumer by a new one.
    pub(super) fn replace(&mut self, who: usize) -> Checked {
        let consumes = self.consumers[who].consumes;
        for call in self.consumers[who].calls.clone() {
            if let CallProgress::Acted(_) = call.way {
                self.note_lost(&call.what);
            }
        }
        self.consumers[who] = Rc::new(Consumer::new(consumes, self.bounds, self.now));
        self.drain(who)
    }

    /// Checks that receives do not ask for more messages than there are places besides those of handlers that have not ended.
    fn fits(&self, who: usize) -> Checked {
        let consumer = &self.consumers[who];
        let asked = consumer.calls.iter().map(|call| match &call.what {
            SqsRequest::Receive(poll) if !matches!(call.way, CallProgress::Acted(_)) => poll.messages,
            _ => 0,
        });
        let asked: usize = asked.sum();
        let waiting: usize = consumer.lanes.iter().map(|(_, lane)| lane.len()).sum();
        let running: usize = consumer.running.iter().map(|running| running.facts.len()).sum();
        if asked + waiting + running > consumer.places * self.bounds.chunk.unwrap_or(1) {
            return Err(format!("it asks for {asked} messages beside {}", waiting + running));
        }
        Ok(())
    }

    /// Begins messages while there are free runners.
    pub(super) fn begin(&mut self, who: usize) -> Checked {
        while self.consumers[who].running.len() < self.bounds.concurrency
            && let Some((batch, lane)) = self.consumer(who).lanes.pop_front()
        {
            let mut lanes = vec![lane];
            let is_bulk = self.bounds.chunk.is_some() && self.consumers[who].consumes == Consumes::Worker;
            if is_bulk {
                // A call takes whole groups.
                let mut room = self.bounds.chunk.unwrap_or_default().saturating_sub(lanes[0].len());
                self.consumer(who).lanes.retain(|(of, lane)| {
                    let fits = *of == batch && lane.len() <= room;
                    room -= if fits { lane.len() } else { 0 };
                    lanes.extend(fits.then(|| lane.clone()));
                    !fits
                });
            }
            let all = &self.consumers[who].batches[&batch];
            let facts: Vec<_> = if is_bulk {
                lanes.iter().cloned().flatten().map(|at| Arc::clone(&all[at])).collect()
            } else {
                vec![Arc::clone(&all[lanes[0].start])]
            };
            for (place, fact) in facts.iter().enumerate() {
                self.may_begin(who, batch, fact, &facts[..place])?;
                self.say(|it| format!("{} begins m{}", it.name(who), fact.message + 1));
            }
            let now = self.now;
            let consumer = self.consumer(who);
            let is_trial = consumer.rests_until.is_some_and(|until| until <= now);
            if is_trial {
                consumer.rests_until = Some(now + OPEN_FOR);
            }
            consumer.running.push(Running { batch, lanes, facts, mood: Mood::Runs, began: now, is_trial });
        }
        Ok(())
    }

    /// Notes what the end of a handler proves about the dependency.
    pub(super) fn learn(&mut self, who: usize, ended: &Running, says: Option<HandlerEnd>) {
        let now = self.now;
        let consumer = self.consumer(who);
        match says {
            // A trial that proves nothing lets the next one try.
            Some(HandlerEnd::Rejects) if ended.is_trial => {
                consumer.rests_until = consumer.rests_until.map(|until| until.min(now));
            }
            Some(HandlerEnd::Done | HandlerEnd::DoneInPart)
                if consumer.down_since.is_none_or(|since| since <= ended.began) =>
            {
                (consumer.outages, consumer.down_since, consumer.rests_until) = (0, None, None);
            }
            Some(HandlerEnd::Outage) => {
                consumer.outages += 1;
                if consumer.outages == 3 {
                    (consumer.down_since, consumer.rests_until) = (Some(now), Some(now + OPEN_FOR));
                }
            }
            Some(HandlerEnd::Done | HandlerEnd::DoneInPart | HandlerEnd::Fails | HandlerEnd::Rejects)
            | None => {}
        }
    }

    /// Checks what must hold when a worker's handler that was not canceled has its effect.
    pub(super) fn may_take_effect(&self, fact: &Fact) -> Checked {
        let history = &self.histories[fact.message];
        let is_lost = history.leases[fact.attempt as usize] <= self.now;
        if is_lost && history.deliveries > fact.attempt as usize {
            return Err(format!("m{} has its effect although another has received it", fact.message + 1));
        }
        Ok(())
    }

    /// Checks what must hold when a handler begins.
    pub(super) fn may_begin(
        &self,
        who: usize,
        batch: BatchKey,
        fact: &Fact,
        together: &[Arc<Fact>],
    ) -> Checked {
        let (message, number) = (fact.message, fact.message + 1);
        if self.consumers[who].done.contains(&message) {
            return Err(format!("m{number} begins again in the process that has done it"));
        }
        for (other, consumer) in self.consumers.iter().enumerate() {
            let running = consumer.running.iter().flat_map(|it| &it.facts);
            for theirs in running.chain(consumer.blocked.iter().map(|(_, fact)| fact)) {
                let is_held = self.histories[theirs.message].leases[theirs.attempt as usize] > self.now;
                // SQS itself may deliver a message twice.
                if theirs.message == message && is_held && !self.histories[message].is_copied {
                    return Err(format!("m{number} begins although its handler runs whose lease is held"));
                }
                let is_same = theirs.message == message || fact.group.is_some() && theirs.group == fact.group;
                if other == who && is_same && consumer.consumes == Consumes::Worker {
                    return Err(format!("m{number} begins in a process that runs its message or group"));
                }
            }
        }
        let groups = self.bounds.groups;
        let earlier = (0..message).filter(|&it| self.bounds.is_fifo && groups[it] == groups[message]);
        let is_before = |it: usize| self.is_proven(it) || together.iter().any(|fact| fact.message == it);
        if let Some(earlier) = earlier.into_iter().find(|&it| !is_before(it)) {
            return Err(format!("m{number} begins before m{} of its group is over", earlier + 1));
        }
        let mut later = message + 1..groups.len();
        let is_done = |it: &usize| groups[*it] == groups[message] && self.histories[*it].is_done;
        // A sandbox that is killed has not reported its done messages.
        let tells = !self.bounds.consumers.contains(&Consumes::Sandbox);
        // Nor has a bulk worker whose leases ended when all messages of a call were done.
        let is_repeated = self.bounds.chunk.is_some() && self.histories[message].is_done;
        if self.bounds.is_fifo
            && tells
            && !is_repeated
            && let Some(later) = later.find(is_done)
        {
            return Err(format!(
                "m{number} begins although m{} of its group is done, which came later",
                later + 1
            ));
        }
        let consumer = &self.consumers[who];
        let isolates =
            consumer.consumes == Consumes::Sandbox && !self.bounds.is_fifo && !consumer.has_outlived;
        let isolates = isolates && fact.attempt >= self.bounds.suspects_from;
        let is_beside = consumer.running.iter().any(|it| it.mood == Mood::Runs);
        if isolates && is_beside && self.now < consumer.began + UNTIL / 4 {
            return Err(format!("m{number} begins beside another message"));
        }
        if consumer.rests_until.is_some_and(|until| until > self.now) && fact.attempt < self.bounds.deliveries
        {
            return Err(format!("m{number} begins although what it needs is down"));
        }
        let batch = &consumer.batches[&batch];
        if consumer.is_told && batch.iter().all(|it| it.attempt < self.bounds.deliveries) {
            return Err(format!("m{number} begins after the worker was told to end"));
        }
        Ok(())
    }
}
