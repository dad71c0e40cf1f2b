//! The task that drives a run: it polls queues, passes batches to functions, acts on their responses, evaluates alarms every
//! minute, and lets time pass only when nothing is left to do.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::EventKind;
use super::invocation::{Finished, Invocation};
use super::pool::Pools;
use super::settle::{give_back, settle};
use super::state::WorldState;
use super::world::World;
use crate::mapping::{self, Capacity, MappingConfig, Poller, Step};
use crate::queue::Received;
use crate::runtime_api::{Function, Log};

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
pub(crate) struct Driver {
    world: Arc<World>,
    mappings: Vec<Poller>,
    functions: Pools,
    /// Revision of the Lambda configuration that mappings and functions use.
    revision: u64,
    invocations: JoinSet<Finished>,
    stop: watch::Receiver<bool>,
}

impl Driver {
    pub(crate) fn new(world: Arc<World>, functions: Vec<Function>, stop: watch::Receiver<bool>) -> Self {
        let mappings = world.act(|state, _| {
            let mappings = state.account.lambda.mappings().iter();
            let arn = |config: &MappingConfig| state.account.sqs.arn(&config.queue);
            mappings.map(|mapping| Poller::new(mapping.config.clone(), arn(&mapping.config))).collect()
        });
        let functions = Pools::new(functions);
        Self { world, mappings, functions, revision: 0, invocations: JoinSet::new(), stop }
    }

    /// Runs until it is stopped, and then ends every process.
    pub(crate) async fn run(mut self) {
        let mut changes = self.world.changes();
        let world = Arc::clone(&self.world);
        while !*self.stop.borrow() {
            changes.mark_unchanged();
            let known = changes.clone();
            self.tick();
            self.send_scheduled();
            self.apply_changes();
            for index in 0..self.mappings.len() {
                self.advance(index);
            }
            let (until, next_tick) = self.next_wake_up();
            world.rest(|state, now| self.is_at_rest(state, now));
            tokio::select! {
                biased;
                _ = self.stop.changed() => (),
                Some(finished) = self.invocations.join_next() => {
                    self.finish(finished.expect("an invocation is neither aborted nor does it panic"));
                }
                _ = changes.changed() => (),
                () = world.clock.pass(until, next_tick, || known.has_changed().unwrap_or(true)) => (),
            }
        }
        self.end().await;
    }

    /// Publishes the metrics of every minute that is over, and evaluates the alarms.
    fn tick(&mut self) {
        let world = Arc::clone(&self.world);
        world.act(WorldState::end_rest);
        loop {
            if !world.act(|state, now| state.account.tick(now)) {
                return;
            }
            world.evaluated(|state, now| self.is_at_rest(state, now));
        }
    }

    /// Sends the messages of schedules that are due. A state folder records them as calls of a client.
    fn send_scheduled(&self) {
        self.world.act(|state, now| {
            while let Some((due, request)) = state.account.scheduler.take_due(now) {
                if let Some(folder) = &mut state.folder {
                    // After a failure, the next call saves a snapshot with this message.
                    let _ = folder.record("SendMessage", &request, &state.account.sqs, due);
                }
                state.account.send_scheduled(&request, due);
            }
        });
    }

    /// Applies changes that clients made through Lambda's API. Running invocations continue.
    fn apply_changes(&mut self) {
        let Self { world, mappings, functions, revision, .. } = self;
        world.act(|state, now| {
            let changed = std::mem::replace(revision, state.account.lambda.revision()) != *revision;
            for (index, mapping) in mappings.iter_mut().enumerate() {
                if changed {
                    mapping.config.clone_from(&state.account.lambda.mappings()[index].config);
                }
                let gave_up = functions.capacity(&mapping.config.function) == Capacity::GaveUp;
                if mapping.config.enabled || mapping.is_drained() || gave_up {
                    state.account.lambda.settled(index, now);
                }
            }
            for (name, pool) in functions.iter_mut().filter(|_| changed) {
                pool.reserve(state.account.lambda.reserved_concurrency(name));
            }
        });
    }

    /// Performs the steps of a mapping that are due.
    fn advance(&mut self, index: usize) {
        loop {
            let poller = &mut self.mappings[index];
            let capacity = self.functions.capacity(&poller.config.function);
            let step = self.world.act(|state, now| state.poll(poller, capacity, now));
            let MappingConfig { queue, function, .. } = &poller.config;
            match step {
                None => return,
                Some(Step::Invoke(messages)) => self.start(index, messages),
                Some(Step::Throttle(messages)) => self.world.act(|state, now| {
                    state.account.cloudwatch.throttled(function, now);
                    state.report(EventKind::Throttled { function: function.clone(), messages });
                }),
                Some(Step::GiveUp(messages)) => self.world.act(|state, _| give_back(state, queue, &messages)),
            }
        }
    }

    fn start(&mut self, index: usize, messages: Vec<Received>) {
        let Poller { config, queue_arn, .. } = &self.mappings[index];
        let Some(pool) = self.functions.get_mut(&config.function) else { return };
        let (function, idle) = (Arc::clone(&pool.function), pool.begin());
        let request_id = Uuid::new_v4().to_string();
        let guard = self.world.clock.running();
        let real_now = SystemTime::now();
        let event = mapping::event(&messages, queue_arn, |stamp| self.world.clock.to_real(stamp, real_now));
        self.world.act(|state, now| {
            state.messages.invocation();
            state.account.cloudwatch.concurrent(&config.function, pool.running, now);
            EventKind::begun(config, &request_id, &messages).for_each(|event| state.report(event));
        });
        let invocation = Invocation { mapping: index, request_id, messages, running: guard };
        let (world, logging) = (Arc::clone(&self.world), Arc::clone(&function));
        let log = Log::new(world.clock.now(), move |stream, line| world.log(&logging.config, stream, line));
        self.invocations.spawn(invocation.run(function, idle, event, log, self.stop.clone()));
    }

    fn finish(&mut self, finished: Finished) {
        let poller = &mut self.mappings[finished.invocation.mapping];
        poller.end();
        settle(&self.world, &poller.config, &finished);
        let Some(pool) = self.functions.get_mut(&poller.config.function) else { return };
        if let Some(gave_up) = pool.end(finished) {
            self.world.report(gave_up);
        }
    }

    /// Returns the next moment with something to do, and the next tick. Time stops at ticks on the way. A tick itself is a
    /// reason to continue only after changes that no alarm has been evaluated on. While everything rests, days pass without a
    /// tick.
    fn next_wake_up(&self) -> (Option<SystemTime>, SystemTime) {
        self.world.act(|state, now| {
            let rests = state.begin_rest();
            let changes =
                self.active().filter_map(|mapping| state.account.sqs.next_change(&mapping.config.queue, now));
            let windows = self.active().filter_map(Poller::due);
            let worked =
                state.messages.worked.names().filter_map(|queue| state.account.sqs.next_change(queue, now));
            let throttled = self.active().filter_map(Poller::gives_up_at);
            let tick = if rests { now + DAY } else { state.account.next_tick(now) };
            let ticked = state.unevaluated.then_some(tick);
            let next = changes
                .chain(worked)
                .chain(windows)
                .chain(throttled)
                .chain(state.account.next_action())
                .chain(ticked)
                .min();
            (next, tick)
        })
    }

    /// Returns true if no invocation runs, no message moves, and all queues that feed functions or workers are empty.
    fn is_at_rest(&self, state: &WorldState, now: SystemTime) -> bool {
        self.invocations.is_empty()
            && state.account.next_action().is_none()
            && state.messages.worked.names().all(|queue| state.held(queue, now) == 0)
            && self
                .active()
                .all(|mapping| mapping.config.enabled && state.held(&mapping.config.queue, now) == 0)
    }

    fn active(&self) -> impl Iterator<Item = &Poller> {
        self.mappings.iter().filter(|mapping| {
            (mapping.config.enabled || !mapping.is_drained())
                && self.functions.capacity(&mapping.config.function) != Capacity::GaveUp
        })
    }

    async fn end(mut self) {
        while let Some(finished) = self.invocations.join_next().await {
            self.finish(finished.expect("an invocation is neither aborted nor does it panic"));
        }
        self.functions.end().await;
    }
}
