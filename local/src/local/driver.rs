//! The one task that makes things happen: it polls queues, hands batches to functions, acts on what they say, evaluates
//! alarms at each minute, and lets time pass only when there is nothing left to do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::invocation::{Finished, Invocation, StartFailure};
use super::world::{State, World};
use super::{EventKind, MappingConfig};
use crate::mapping::{self, Batch};
use crate::metrics::Invoked;
use crate::queue::Received;
use crate::runtime_api::{Function, Process};

/// So many processes in a row that do not start are taken as a function that cannot.
const START_FAILURES: u32 = 10;

#[derive(Debug)]
pub(crate) struct Driver {
    world: Arc<World>,
    mappings: Vec<Mapping>,
    functions: BTreeMap<String, Pool>,
    invocations: JoinSet<Finished>,
    /// When metrics were last published and alarms evaluated.
    ticked_at: SystemTime,
    stop: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Mapping {
    config: MappingConfig,
    queue_arn: String,
    batch: Batch,
    running: usize,
}

/// The processes of a function.
#[derive(Debug)]
struct Pool {
    function: Arc<Function>,
    idle: Vec<Process>,
    start_failures: u32,
}

impl Driver {
    pub(crate) fn new(
        world: Arc<World>,
        mappings: Vec<MappingConfig>,
        functions: Vec<Function>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let mappings = mappings
            .into_iter()
            .map(|config| {
                let queue_arn = world.act(|state, _| state.queues.arn(&config.queue));
                Mapping { config, queue_arn, batch: Batch::new(), running: 0 }
            })
            .collect();
        let functions = functions
            .into_iter()
            .map(|function| (function.config.name.clone(), Pool::new(function)))
            .collect();
        let ticked_at = world.clock.now();
        Self { world, mappings, functions, invocations: JoinSet::new(), ticked_at, stop }
    }

    /// Runs until it is stopped; then every process is ended.
    pub(crate) async fn run(mut self) {
        let mut changes = self.world.changes();
        let world = Arc::clone(&self.world);
        while !*self.stop.borrow() {
            changes.mark_unchanged();
            self.tick();
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
                () = world.clock.pass(until, next_tick) => (),
            }
        }
        self.end().await;
    }

    /// Publishes the metrics of every minute that is over, and evaluates the alarms.
    fn tick(&mut self) {
        let world = Arc::clone(&self.world);
        loop {
            let ticked = world.act(|state, now| {
                let tick = state.cloudwatch.next_tick(self.ticked_at);
                (tick <= now).then(|| state.cloudwatch.tick(&mut state.queues, tick)).map(|()| tick)
            });
            let Some(tick) = ticked else { return };
            self.ticked_at = tick;
            world.evaluated(|state, now| self.is_at_rest(state, now));
        }
    }

    /// Fills the batch of a mapping and hands it to the function, as often as there are messages and free processes.
    fn poll(&mut self, index: usize) {
        let Some(pool) = self.functions.get(&self.mappings[index].config.function) else { return };
        if pool.gave_up() {
            return;
        }
        loop {
            let Mapping { config, queue_arn, batch, running } = &mut self.mappings[index];
            if !config.enabled || *running >= config.maximum_concurrency {
                return;
            }
            let taken = self.world.act(|state, now| {
                while batch.room(config) > 0 {
                    // A queue that has been deleted gives nothing.
                    let received = state.receive(&config.queue, batch.room(config), now).unwrap_or_default();
                    if received.is_empty() {
                        break;
                    }
                    batch.add(received, config, queue_arn, now);
                }
                batch.take(config, queue_arn, now)
            });
            let Some(messages) = taken else { return };
            self.start(index, messages);
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
            state.ledger.invocation();
            state.cloudwatch.concurrent(&config.function, concurrent, now);
            for Received { message_id, receive_count, .. } in &messages {
                state.tell(EventKind::Received {
                    queue: config.queue.clone(),
                    message_id: message_id.clone(),
                    attempt: *receive_count,
                    request_id: Some(request_id.clone()),
                });
            }
            state.tell(EventKind::InvocationStarted {
                function: config.function.clone(),
                request_id: request_id.clone(),
                messages: messages.len(),
            });
        });
        let invocation = Invocation { mapping: index, request_id, messages, _running: guard };
        let (world, name) = (Arc::clone(&self.world), config.function.clone());
        let show = pool.function.config.show_output;
        let output = Arc::new(move |line| world.log(&name, line, show));
        let (function, idle) = (Arc::clone(&pool.function), pool.take());
        self.invocations.spawn(invocation.run(function, idle, event, output, self.stop.clone()));
    }

    async fn finish(&mut self, finished: Finished) {
        let mapping = &mut self.mappings[finished.invocation.mapping];
        mapping.running -= 1;
        let config = &mapping.config;
        settle(&self.world, config, &finished);
        let Some(pool) = self.functions.get_mut(&config.function) else { return };
        pool.start_failures = match &finished.ended {
            Ok(_) => 0,
            Err(StartFailure(reason)) => {
                let failures = pool.start_failures + 1;
                if failures == START_FAILURES {
                    let reason =
                        format!("{START_FAILURES} processes in a row did not start; the last one: {reason}");
                    self.world.tell(EventKind::GaveUp { function: config.function.clone(), reason });
                }
                failures
            }
        };
        pool.idle.extend(finished.process);
    }

    /// The next moment at which there is something to do, and the next tick. Ticks are stops on the way there, and a
    /// reason to go on only as long as something has happened that no alarm has been evaluated on.
    fn next_wake_up(&self) -> (Option<SystemTime>, SystemTime) {
        self.world.act(|state, now| {
            let changes =
                self.active().filter_map(|mapping| state.queues.next_change(&mapping.config.queue, now));
            let windows = self.active().filter_map(|mapping| mapping.batch.due());
            let tick = state.cloudwatch.next_tick(self.ticked_at);
            let moves = state.queues.next_move();
            let next = changes.chain(windows).chain(moves).chain(state.unevaluated.then_some(tick)).min();
            (next, tick)
        })
    }

    /// Whether no invocation runs, no message moves, and nothing is left in a queue that feeds a function.
    fn is_at_rest(&self, state: &State, now: SystemTime) -> bool {
        self.invocations.is_empty()
            && state.queues.next_move().is_none()
            && self.active().all(|mapping| state.held(&mapping.config.queue, now) == 0)
    }

    fn active(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter().filter(|mapping| {
            mapping.config.enabled
                && self.functions.get(&mapping.config.function).is_some_and(|pool| !pool.gave_up())
        })
    }

    async fn end(mut self) {
        while let Some(finished) = self.invocations.join_next().await {
            self.finish(finished.expect("an invocation is neither aborted nor does it panic")).await;
        }
        for process in self.functions.into_values().flat_map(|pool| pool.idle) {
            process.end().await;
        }
    }
}

impl Pool {
    fn new(function: Function) -> Self {
        Self { function: Arc::new(function), idle: Vec::new(), start_failures: 0 }
    }

    fn take(&mut self) -> Option<Process> {
        while let Some(mut process) = self.idle.pop() {
            if process.is_alive() {
                return Some(process);
            }
        }
        None
    }

    fn gave_up(&self) -> bool {
        self.start_failures >= START_FAILURES
    }
}

/// Deletes what succeeded and tells what failed. A message that failed is left alone, with the visibility timeout that
/// it has.
fn settle(world: &World, config: &MappingConfig, finished: &Finished) {
    let (outcome, failed) = finished.judge(config.report_batch_item_failures);
    world.act(|state, now| {
        state.cloudwatch.invoked(Invoked {
            function: &config.function,
            started_at: now - finished.duration,
            duration: finished.duration,
            failed: outcome.is_error(),
        });
        state.tell(EventKind::InvocationEnded {
            function: config.function.clone(),
            request_id: finished.invocation.request_id.clone(),
            outcome,
            failed: failed.len(),
            duration_ms: finished.duration.as_millis() as u64,
        });
        for message in &finished.invocation.messages {
            let Received { message_id, receipt_handle, receive_count, .. } = message;
            let queue = config.queue.clone();
            if !failed.contains(message_id.as_str())
                && state.queues.delete(&queue, receipt_handle, now).is_ok()
            {
                continue;
            }
            let visibility_timeout = state.queues.visibility_timeout(&queue).unwrap_or_default();
            let Some(seconds) = state.ledger.give_back(message_id, visibility_timeout, now) else { continue };
            let (attempt, message_id) = (*receive_count, message_id.clone());
            state.tell(EventKind::Failed { queue: queue.clone(), message_id: message_id.clone(), attempt });
            state.tell(EventKind::BackIn { queue, message_id, seconds });
        }
    });
}
