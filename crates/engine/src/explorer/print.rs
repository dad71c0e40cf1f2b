//! A number for a state, equal for equal states. Times count from now, batches by their order, and workers have no names.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::world::{Answer, CallProgress, Consumer, Fact, Machine, SqsRequest, UnderWay, World};
use crate::batch::Phase;
use crate::breaker::OUTAGES;
use crate::keys::{BatchKey, MessageKey};
use crate::outbox::Outbox;
use crate::pacing::keyed_limiter::KeyedLimiter;
use crate::pacing::receive_budget::ReceiveBudget;
use crate::worker::Life;
use crate::worker::pollers::Pollers;
use crate::{Call, Outcome, SettleCall, Shared, Time, WorkerEngine};

/// Times that are longer ago, or farther off, make no difference.
const LONG_AGO: i64 = -1_000_000_000;
const FAR_OFF: i64 = 3_600_000_000_000;

struct Print<'w> {
    hasher: DefaultHasher,
    engine: Option<&'w Machine>,
    now: Time,
}

impl World {
    pub(super) fn print(&self) -> u64 {
        let mut print = Print { hasher: DefaultHasher::new(), engine: None, now: self.now };
        print.queue(self);
        print.add((self.left, self.is_receivable, self.bucket.level));
        print.time(self.bucket.at);
        let mut consumers: Vec<_> =
            self.consumers.iter().map(|it| Print::of_consumer(it, self.now)).collect();
        consumers.sort_unstable();
        print.add(consumers);
        let strays = self.strays.iter().map(|stray| print.beside(|it| it.stray(stray)));
        let mut strays: Vec<_> = strays.collect();
        strays.sort_unstable();
        print.add(strays);
        print.hasher.finish()
    }
}

impl<'w> Print<'w> {
    fn add(&mut self, what: impl Hash) {
        what.hash(&mut self.hasher);
    }

    fn time(&mut self, time: Time) {
        let nanos = |time: Time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let left = nanos(time).saturating_sub(nanos(self.now)).clamp(LONG_AGO, FAR_OFF);
        self.add(left);
    }

    fn maybe(&mut self, time: Option<Time>) {
        self.add(time.is_some());
        time.into_iter().for_each(|time| self.time(time));
    }

    /// Adds the end of something, which makes no difference once it has passed.
    fn end(&mut self, time: Time) {
        self.time(time.max(self.now));
    }

    fn batch(&mut self, batch: BatchKey) {
        let place = self.engine.and_then(|engine| engine.batches().keys().position(|it| *it == batch));
        self.add(place);
    }

    fn key(&mut self, key: MessageKey) {
        self.batch(key.batch);
        self.add(key.at);
    }

    fn fact(&mut self, fact: &Fact) {
        self.add((fact.message, fact.attempt));
    }

    fn facts(&mut self, facts: &[Arc<Fact>]) {
        facts.iter().for_each(|fact| self.fact(fact));
    }

    fn queue(&mut self, world: &World) {
        let source = if world.bounds.is_fifo { "tea.fifo" } else { "tea" };
        let standing = world.queues.standing(source);
        let mut visible: Vec<_> = standing.iter().filter_map(|it| it.hidden.err()).collect();
        visible.sort_unstable();
        visible.dedup();
        for it in &standing {
            self.add((world.ids.iter().position(|id| id == it.id), it.receive_count, it.hidden.is_ok()));
            match it.hidden {
                Ok(until) => self.time(since_start(until)),
                Err(since) => self.add(visible.iter().position(|it| *it == since)),
            }
        }
        for history in &world.histories {
            self.add((history.is_done, history.letters, history.is_gone, history.deliveries));
            if history.is_gone && history.letters > 0 {
                continue;
            }
            self.add((history.is_delayed, history.has_lost_letter, history.ran_out, history.is_copied));
            history.leases.iter().for_each(|lease| self.end(*lease));
        }
    }

    fn of_consumer(consumer: &'w Consumer, now: Time) -> u64 {
        let now = now - consumer.began;
        let mut print = Self { hasher: DefaultHasher::new(), engine: consumer.engine.as_ref(), now };
        print.add((consumer.consumes, consumer.places, consumer.is_told, consumer.is_asleep));
        if let Some(engine) = &consumer.engine {
            print.engine(engine);
        }
        if !consumer.delivery.is_empty() {
            print.time(Time::ZERO);
        }
        consumer.delivery.iter().for_each(|(_, fact)| print.fact(fact));
        // By the wall clock, like all times below.
        let by_engine = std::mem::replace(&mut print.now, now + consumer.began);
        if let Some(engine) = &consumer.engine {
            print.shared(engine.shared());
        }
        print.shared(&consumer.shared);
        print.add((consumer.outages, consumer.has_outlived, &consumer.done));
        print.maybe(consumer.down_since);
        print.maybe(consumer.rests_until);
        print.now = by_engine;
        for (batch, lane) in &consumer.lanes {
            print.batch(*batch);
            print.add(lane);
        }
        for batch in &consumer.ending {
            print.batch(*batch);
        }
        for (lease, fact) in &consumer.leases {
            print.add(lease);
            print.fact(fact);
        }
        let mut others = 0_u64;
        for running in &consumer.running {
            others = others.wrapping_add(print.beside(|it| {
                it.facts(&running.facts);
                it.batch(running.batch);
                it.add((&running.lanes, running.mood, running.is_trial));
                it.maybe((consumer.outages > 0).then_some(running.began.saturating_sub(consumer.began)));
            }));
        }
        for (batch, fact) in &consumer.blocked {
            others = others.wrapping_add(print.beside(|it| {
                it.batch(*batch);
                it.fact(fact);
            }));
        }
        for call in &consumer.calls {
            others = others.wrapping_add(print.beside(|it| it.call(call)));
        }
        print.add(others);
        print.hasher.finish()
    }

    /// Returns the number of an item whose place among others makes no difference.
    fn beside(&self, what: impl FnOnce(&mut Self)) -> u64 {
        let mut print = Self { hasher: DefaultHasher::new(), engine: self.engine, now: self.now };
        what(&mut print);
        print.hasher.finish()
    }

    fn call(&mut self, UnderWay { what, way, limit }: &UnderWay) {
        match what {
            SqsRequest::Settle { call: Call { kind, messages, .. }, facts } => {
                self.add(kind);
                for (key, after) in messages {
                    self.key(*key);
                    self.add(after);
                }
                self.facts(facts);
            }
            SqsRequest::Extend { asked, leases, facts } => {
                self.time(*asked);
                self.add(leases);
                self.facts(facts);
            }
            SqsRequest::Receive(poll) => {
                let is_old = matches!(self.engine, Some(Machine::Worker(it)) if poll.sent < it.machine.pollers.failed_at);
                self.add((poll.messages, poll.wait, is_old));
                self.time(poll.sent);
            }
        }
        self.end(*limit);
        match way {
            CallProgress::Fresh => self.add(0),
            CallProgress::Slow => self.add(1),
            CallProgress::Acted(Answer::Settlement(keys)) => keys.iter().for_each(|key| self.key(*key)),
            CallProgress::Acted(Answer::Extended(answers)) => {
                answers.iter().for_each(|(lease, answer)| self.add((lease, std::mem::discriminant(answer))));
            }
            CallProgress::Acted(Answer::Received(facts)) => self.facts(facts),
        }
    }

    fn stray(&mut self, what: &SqsRequest) {
        match what {
            SqsRequest::Settle { call, .. } => {
                self.add(call.kind);
                call.messages.iter().for_each(|(_, after)| self.add(after));
            }
            SqsRequest::Extend { leases, .. } => leases.iter().for_each(|(_, seconds)| self.add(seconds)),
            SqsRequest::Receive(poll) => self.add(poll.messages),
        }
        self.facts(what.facts());
    }

    fn engine(&mut self, engine: &Machine) {
        self.add(engine.shared().streak);
        for batch in engine.batches().values() {
            self.add((std::mem::discriminant(&batch.phase), batch.deletes));
            self.add((batch.is_silent, batch.something_finished, batch.is_interrupted));
            self.add(&batch.withdrawn);
            if let Phase::Closing(until) = batch.phase {
                self.time(until);
            }
            self.time(batch.until);
            for message in &batch.messages {
                let settled = &message.settled;
                self.fact(&message.facts);
                self.add((message.lease, message.tries, settled.state, &settled.action, message.is_trial));
                self.maybe(message.hidden_until);
                self.add((settled.has_letter, settled.is_lost, std::mem::discriminant(&settled.outcome)));
                if let Outcome::Failed(summary) = &settled.outcome {
                    self.add(summary.disposition.name());
                }
            }
        }
        let Outbox { letters, deletes, changes, writing, .. } = engine.outbox();
        for (kind, entries) in [
            (SettleCall::DeadLetter, letters),
            (SettleCall::Delete, deletes),
            (SettleCall::ChangeVisibility, changes),
        ] {
            for entry in entries {
                self.add(kind);
                self.key(entry.key);
                self.time(entry.since);
            }
        }
        for (_, group) in writing {
            self.batch(group.batch);
            self.add(group.lane);
        }
        match engine {
            Machine::Sandbox(engine) => self.time(engine.machine.limits.settle_until),
            Machine::Worker(engine) => self.worker(engine),
        }
    }

    fn shared(&mut self, shared: &Shared) {
        for (name, outages, times) in shared.breakers.each() {
            self.add((name, outages.min(OUTAGES)));
            self.maybe(times.map(|(since, _)| since));
            self.maybe(times.map(|(_, until)| until));
        }
        self.add(shared.outlived_suspects);
    }

    fn turns<'t>(&mut self, turns: impl Iterator<Item = &'t KeyedLimiter>) {
        for (full_at, line_until) in turns.flat_map(KeyedLimiter::each) {
            self.end(full_at);
            self.end(line_until);
        }
    }

    fn worker(&mut self, engine: &WorkerEngine<'_, Arc<Fact>>) {
        let worker = &engine.machine;
        let Pollers { wanted, under_way, asked, errors, in_a_row, paused_until, room_since, .. } =
            worker.pollers;
        self.add((wanted, under_way, asked, errors, in_a_row));
        self.end(paused_until);
        self.maybe(room_since);
        for (lease, until, due, is_extending, is_settling) in worker.leases.each() {
            self.add((lease, is_extending, is_settling));
            self.time(until);
            self.maybe(due);
        }
        for (lease, held) in &worker.held {
            self.add((lease, held.is_asked, held.waits));
            held.key.into_iter().for_each(|key| self.key(key));
        }
        let mut names: Vec<_> = worker.in_flight_by_id.iter().collect();
        names.sort_unstable();
        for (name, key) in names {
            self.add(name);
            self.key(*key);
        }
        let mut finished: Vec<_> = worker.finished.each().collect();
        finished.sort_unstable();
        self.add(finished);
        for message in &worker.pending_chunk.messages {
            self.fact(&message.facts);
        }
        self.maybe(worker.pending_chunk.due);
        for (at, leases) in worker.parked.each() {
            self.time(at);
            leases.for_each(|lease| self.add(lease));
        }
        if let Some(ReceiveBudget::Shared(leased)) = &worker.budget {
            let (state, times) = leased.state();
            self.add(state);
            times.into_iter().for_each(|time| self.time(time));
        }
        self.turns(worker.keyed_limiter.iter());
        for (at, key) in &worker.again {
            self.time(*at);
            self.key(*key);
        }
        self.add((worker.why, worker.unconfirmed, worker.is_signaled));
        self.add(std::mem::discriminant(&worker.life));
        match worker.life {
            Life::Running => self.maybe(worker.blocked_since),
            Life::Draining { until } | Life::Closing { until } => self.time(until),
            Life::Over => {}
        }
    }
}

fn since_start(time: SystemTime) -> Time {
    time.duration_since(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap_or_default()
}
