//! The one task that makes things happen: it polls queues, hands batches to functions, acts on what they say, evaluates
//! alarms at each minute, and lets time pass only when there is nothing left to do.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::EventKind;
use super::invocation::{Finished, Invocation};
use super::pool::Pool;
use super::settle::{give_back, settle};
use super::state::State;
use super::world::World;
use crate::mapping::MappingConfig;
use crate::mapping::{self, Batch, Full};
use crate::queue::Received;
use crate::runtime_api::{Function, Log};

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Debug)]
pub(crate) struct Driver {
    world: Arc<World>,
    mappings: Vec<Mapping>,
    functions: BTreeMap<String, Pool>,
    /// The revision of Lambda's configuration that these work by.
    revision: u64,
    invocations: JoinSet<Finished>,
    stop: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Mapping {
    config: MappingConfig,
    queue_arn: String,
    batch: Batch,
    running: usize,
    throttled: VecDeque<Throttled>,
}

/// A batch for which its function has no concurrency left. Its messages are visible again at `until`.
#[derive(Debug)]
struct Throttled {
    messages: Vec<Received>,
    until: SystemTime,
}

impl Mapping {
    fn new(config: MappingConfig, queue_arn: String) -> Self {
        Self { config, queue_arn, batch: Batch::new(), running: 0, throttled: VecDeque::new() }
    }

    /// Whether nothing that it has received is still with it.
    fn is_drained(&self) -> bool {
        self.running == 0 && self.batch.is_empty() && self.throttled.is_empty()
    }
}

impl Driver {
    pub(crate) fn new(world: Arc<World>, functions: Vec<Function>, stop: watch::Receiver<bool>) -> Self {
        let mappings = world.act(|state, _| {
            let mappings = state.account.lambda.mappings().iter();
            mappings
                .map(|mapping| {
                    Mapping::new(mapping.config.clone(), state.account.sqs.arn(&mapping.config.queue))
                })
                .collect()
        });
        let functions = functions
            .into_iter()
            .map(|function| (function.config.name.clone(), Pool::new(function)))
            .collect();
        Self { world, mappings, functions, revision: 0, invocations: JoinSet::new(), stop }
    }

    /// Runs until it is stopped; then every process is ended.
    pub(crate) async fn run(mut self) {
        let mut changes = self.world.changes();
        let world = Arc::clone(&self.world);
        while !*self.stop.borrow() {
            changes.mark_unchanged();
            let known = changes.clone();
            self.tick();
            self.apply_changes();
            for index in 0..self.mappings.len() {
                self.poll(index);
            }
            let (until, next_tick) = self.next_wake_up();
            world.rest(|state, now| self.is_at_rest(state, now));
            tokio::select! {
                biased;
                _ = self.stop.changed() => (),
                Some(finished) = self.invocations.join_next() => {
                    self.finish(finished.expect("an invocation is neither aborted nor does it panic")).await;
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
        world.act(State::end_rest);
        loop {
            if !world.act(|state, now| state.account.tick(now)) {
                return;
            }
            world.evaluated(|state, now| self.is_at_rest(state, now));
        }
    }

    /// Takes over what clients have changed by Lambda's API. What is under way goes on.
    fn apply_changes(&mut self) {
        let Self { world, mappings, functions, revision, .. } = self;
        world.act(|state, now| {
            let changed = std::mem::replace(revision, state.account.lambda.revision()) != *revision;
            for (index, mapping) in mappings.iter_mut().enumerate() {
                if changed {
                    mapping.config.clone_from(&state.account.lambda.mappings()[index].config);
                }
                let gave_up = functions.get(&mapping.config.function).is_none_or(Pool::gave_up);
                if mapping.config.enabled || mapping.is_drained() || gave_up {
                    state.account.lambda.settled(index, now);
                }
            }
            for (name, pool) in functions.iter_mut().filter(|_| changed) {
                pool.reserve(state.account.lambda.reserved_concurrency(name));
            }
        });
    }

    /// Fills the batch of a mapping and hands it to the function, as often as there are messages and free processes.
    fn poll(&mut self, index: usize) {
        self.retry_throttled(index);
        loop {
            let Mapping { config, batch, running, throttled, .. } = &mut self.mappings[index];
            let Some(pool) = self.functions.get(&config.function).filter(|pool| !pool.gave_up()) else {
                return;
            };
            if *running + throttled.len() >= config.concurrency() {
                return;
            }
            let taken = self.world.act(|state, now| state.poll(config, batch, now));
            let Some(Full { messages, opened }) = taken else { return };
            if pool.has_room() {
                self.start(index, messages);
                continue;
            }
            self.world.act(|state, now| {
                state.account.cloudwatch.throttled(&config.function, now);
                state.tell(EventKind::Throttled {
                    function: config.function.clone(),
                    messages: messages.len(),
                });
                let hidden = state.account.sqs.visibility_timeout(&config.queue).unwrap_or_default();
                throttled.push_back(Throttled { messages, until: opened + hidden });
            });
        }
    }

    /// Hands throttled batches to the function as it gets room for them. Past the visibility timeout of their messages
    /// they are dropped: <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
    fn retry_throttled(&mut self, index: usize) {
        let Mapping { config, throttled, .. } = &mut self.mappings[index];
        self.world.act(|state, now| {
            while let Some(batch) = throttled.pop_front_if(|batch| batch.until <= now) {
                give_back(state, &config.queue, &batch.messages);
            }
        });
        let has_room = |pool: &Pool| pool.has_room() && !pool.gave_up();
        while self.functions.get(&self.mappings[index].config.function).is_some_and(has_room)
            && let Some(batch) = self.mappings[index].throttled.pop_front()
        {
            self.start(index, batch.messages);
        }
    }

    fn start(&mut self, index: usize, messages: Vec<Received>) {
        let function = &self.mappings[index].config.function;
        let of_function = self.mappings.iter().filter(|mapping| mapping.config.function == *function);
        let concurrent = 1 + of_function.map(|mapping| mapping.running).sum::<usize>();
        let Mapping { config, queue_arn, running, .. } = &mut self.mappings[index];
        let Some(pool) = self.functions.get_mut(&config.function) else { return };
        *running += 1;
        let request_id = Uuid::new_v4().to_string();
        let guard = self.world.clock.running();
        let real_now = SystemTime::now();
        let event = mapping::event(&messages, queue_arn, |stamp| self.world.clock.to_real(stamp, real_now));
        self.world.act(|state, now| {
            state.messages.invocation();
            state.account.cloudwatch.concurrent(&config.function, concurrent, now);
            EventKind::begun(config, &request_id, &messages).for_each(|event| state.tell(event));
        });
        let invocation = Invocation { mapping: index, request_id, messages, _running: guard };
        let (world, function) = (Arc::clone(&self.world), Arc::clone(&pool.function));
        let log = Log::new(world.clock.now(), move |stream, line| world.log(&function.config, stream, line));
        let (function, idle) = (Arc::clone(&pool.function), pool.begin());
        self.invocations.spawn(invocation.run(function, idle, event, log, self.stop.clone()));
    }

    async fn finish(&mut self, finished: Finished) {
        let mapping = &mut self.mappings[finished.invocation.mapping];
        mapping.running -= 1;
        let config = &mapping.config;
        settle(&self.world, config, &finished);
        let Some(pool) = self.functions.get_mut(&config.function) else { return };
        if let Some(gave_up) = pool.end(finished) {
            self.world.tell(gave_up);
        }
    }

    /// The next moment at which there is something to do, and the next tick. Ticks are stops on the way there, and a
    /// reason to go on only as long as something has happened that no alarm has been evaluated on. While all rests, days
    /// go by without one.
    fn next_wake_up(&self) -> (Option<SystemTime>, SystemTime) {
        self.world.act(|state, now| {
            let rests = state.begin_rest();
            let changes =
                self.active().filter_map(|mapping| state.account.sqs.next_change(&mapping.config.queue, now));
            let windows = self.active().filter_map(|mapping| mapping.batch.due(&mapping.config));
            let worked =
                state.messages.worked.names().filter_map(|queue| state.account.sqs.next_change(queue, now));
            let throttled = self.active().filter_map(|mapping| Some(mapping.throttled.front()?.until));
            let tick = if rests { now + DAY } else { state.account.next_tick(now) };
            let ticked = state.unevaluated.then_some(tick);
            let next = changes
                .chain(worked)
                .chain(windows)
                .chain(throttled)
                .chain(state.account.sqs.next_move())
                .chain(ticked)
                .min();
            (next, tick)
        })
    }

    /// Whether no invocation runs, no message moves, and nothing is left in a queue that feeds a function or a worker.
    fn is_at_rest(&self, state: &State, now: SystemTime) -> bool {
        self.invocations.is_empty()
            && state.account.sqs.next_move().is_none()
            && state.messages.worked.names().all(|queue| state.held(queue, now) == 0)
            && self
                .active()
                .all(|mapping| mapping.config.enabled && state.held(&mapping.config.queue, now) == 0)
    }

    fn active(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter().filter(|mapping| {
            (mapping.config.enabled || !mapping.is_drained())
                && self.functions.get(&mapping.config.function).is_some_and(|pool| !pool.gave_up())
        })
    }

    async fn end(mut self) {
        while let Some(finished) = self.invocations.join_next().await {
            self.finish(finished.expect("an invocation is neither aborted nor does it panic")).await;
        }
        for process in self.functions.values_mut().flat_map(Pool::take_idle) {
            process.end().await;
        }
    }
}
