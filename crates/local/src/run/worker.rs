//! Keeps an executable that polls a queue running, as a container service does.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::{EventKind, START_FAILURES, World};
use crate::clock::Running;
use crate::runtime_api::{Function, Log, Program};

/// Pause before an ended process is replaced. It doubles each time, until a process has lasted.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const LASTED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) function: Arc<Function>,
    pub(crate) queue: String,
    pub(crate) queue_url: String,
    /// How long a process may take to end.
    pub(crate) grace: Duration,
}

/// An order to all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Work,
    /// End by themselves, after SIGTERM.
    Drain,
    /// End immediately.
    Die,
}

impl Worker {
    /// Keeps a process running until an order to end. Time is real while no process polls yet.
    pub(crate) async fn run(self, world: Arc<World>, mut idle: Running, mut order: watch::Receiver<Order>) {
        let (mut pause, mut failures) = (SHORTEST_PAUSE, 0);
        while *order.borrow() == Order::Work {
            let begun = Instant::now();
            world.act(|state, _| state.messages.worked.start(&self.queue));
            let (status, output) = self.run_once(&world, idle, &mut order).await;
            let is_ending = *order.borrow() != Order::Work;
            if begun.elapsed() >= LASTED {
                pause = SHORTEST_PAUSE;
            }
            let has_polled = world.act(|state, now| state.end_worker(&self.queue, now));
            failures = if has_polled { 0 } else { failures + 1 };
            let gives_up = !is_ending && failures == START_FAILURES;
            let restart_in = (!is_ending && !gives_up).then_some(pause.as_secs());
            let worker = self.function.config.name.clone();
            world.report(EventKind::WorkerEnded {
                worker: worker.clone(),
                status: status.clone(),
                output,
                restart_in,
            });
            if gives_up {
                let what = "it ended before it polled its queue";
                let reason = format!("{what}, {START_FAILURES} times in a row; the last time: {status}");
                world.report(EventKind::GaveUp { function: worker, reason });
            }
            if restart_in.is_none() {
                break;
            }
            idle = world.clock.running();
            let _ = tokio::time::timeout(pause, order.wait_for(|order| *order != Order::Work)).await;
            pause = LONGEST_PAUSE.min(2 * pause);
        }
        world.act(|state, _| {
            state.messages.worked.remove(&self.queue);
            state.change();
        });
    }

    /// Runs one process. Returns how it ended, and the last lines that it wrote.
    async fn run_once(
        &self,
        world: &Arc<World>,
        idle: Running,
        order: &mut watch::Receiver<Order>,
    ) -> (String, Vec<String>) {
        let (logged, function) = (Arc::clone(world), Arc::clone(&self.function));
        let log = Log::new(world.clock.now(), move |stream, line| logged.log(&function.config, stream, line));
        let mut program = match self.function.work(&self.queue_url, &log) {
            Ok(program) => program,
            Err(error) => {
                let command = self.function.config.command.display();
                return (format!("{command} could not be run: {error}"), Vec::new());
            }
        };
        let (worker, queue) = (self.function.config.name.clone(), self.queue.clone());
        world.report(EventKind::WorkerStarted { worker, queue });
        let status = {
            let mut ended = pin!(self.wait_for_end(&mut program, order));
            tokio::select! {
                status = &mut ended => status,
                () = self.polls(world, idle) => ended.await,
            }
        };
        (status, program.end().await)
    }

    /// Waits until a process polls the queue, and keeps time real until then.
    async fn polls(&self, world: &World, _idle: Running) {
        let mut changes = world.changes();
        loop {
            changes.mark_unchanged();
            if world.act(|state, _| state.messages.worked.is_polled(&self.queue)) {
                return;
            }
            // The sender is in the world.
            let _ = changes.changed().await;
        }
    }

    /// Waits until a process ends, by itself or by an order, and returns how.
    async fn wait_for_end(&self, program: &mut Program, order: &mut watch::Receiver<Order>) -> String {
        tokio::select! {
            exit = program.exited() => return exit,
            // The sender is dropped only together with this task.
            _ = order.wait_for(|order| *order != Order::Work) => (),
        }
        program.terminate();
        tokio::select! {
            biased;
            exit = program.exited() => exit,
            _ = order.wait_for(|order| *order == Order::Die) => "killed".to_owned(),
            () = tokio::time::sleep(self.grace) => {
                format!("killed, since it did not end within {} s of SIGTERM", self.grace.as_secs_f64())
            }
        }
    }
}
