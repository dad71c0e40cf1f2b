//! The task of a [`Remote`](super::Remote), which polls queues, passes batches to functions and acts on their responses.

use std::sync::Arc;
use std::time::SystemTime;

use redrive_sqs::LONGEST_POLL;
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::source::Source;
use crate::clock::{Clock, Speed};
use crate::mapping::{self, MappingConfig, Poller, Step};
use crate::queue::Received;
use crate::run::{EventKind, Finished, Invocation, Pools};
use crate::runtime_api::{Function, Log, LogLine};

#[derive(Debug)]
pub(super) struct Driver {
    clock: Clock,
    mappings: Vec<Mapping>,
    functions: Pools,
    /// Received messages, with the index of their mapping.
    polls: JoinSet<(usize, Vec<Received>)>,
    invocations: JoinSet<Finished>,
    stop: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Mapping {
    poller: Poller,
    source: Arc<Source>,
    is_polling: bool,
}

impl Driver {
    pub(super) fn new(
        sources: impl Iterator<Item = Source>,
        functions: Vec<Function>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let mapping = |source: Source| Mapping {
            poller: Poller::new(source.config.clone(), source.queue.arn.clone()),
            source: Arc::new(source),
            is_polling: false,
        };
        Self {
            clock: Clock::new(Speed::Times(1.0), SystemTime::now()),
            mappings: sources.map(mapping).collect(),
            functions: Pools::new(functions),
            polls: JoinSet::new(),
            invocations: JoinSet::new(),
            stop,
        }
    }

    /// Runs until it is stopped, and then ends every process.
    pub(super) async fn run(mut self) {
        while !*self.stop.borrow() {
            for index in 0..self.mappings.len() {
                self.advance(index);
            }
            let gives_up_at = self.mappings.iter().filter_map(|mapping| mapping.poller.gives_up_at()).min();
            let left = gives_up_at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
            tokio::select! {
                biased;
                _ = self.stop.changed() => (),
                Some(finished) = self.invocations.join_next() => {
                    self.finish(finished.expect("an invocation is neither aborted nor does it panic"));
                }
                Some(polled) = self.polls.join_next() => {
                    let (index, messages) = polled.expect("a poll is neither aborted nor does it panic");
                    let mapping = &mut self.mappings[index];
                    mapping.is_polling = false;
                    mapping.poller.add(messages, SystemTime::now());
                }
                () = tokio::time::sleep(left.unwrap_or_default()), if left.is_some() => (),
            }
        }
        self.polls.shutdown().await;
        for Mapping { poller, source, .. } in &mut self.mappings {
            source.not_delivered(&poller.stop());
        }
        while let Some(finished) = self.invocations.join_next().await {
            self.finish(finished.expect("an invocation is neither aborted nor does it panic"));
        }
        self.functions.end().await;
    }

    /// Performs the steps of a mapping that are due, except while a poll may still add to its batch.
    fn advance(&mut self, index: usize) {
        loop {
            let Mapping { poller, source, is_polling } = &mut self.mappings[index];
            let function = &source.config.function;
            let (capacity, now) = (self.functions.capacity(function), SystemTime::now());
            let step = match poller.retry(capacity, now) {
                None if !*is_polling => poller.take(capacity, source.queue.visibility_timeout, now),
                step => step,
            };
            match step {
                Some(Step::Invoke(messages)) => self.start(index, messages),
                Some(Step::Throttle(messages)) => {
                    source.report(EventKind::Throttled { function: function.clone(), messages });
                }
                Some(Step::GiveUp(messages)) => source.not_delivered(&messages),
                None => break,
            }
        }
        self.poll(index);
    }

    /// Polls for a batch until the end of its window, unless a poll is under way.
    fn poll(&mut self, index: usize) {
        let Mapping { poller, source, is_polling } = &mut self.mappings[index];
        let room = poller.room(self.functions.capacity(&source.config.function));
        if room == 0 || *is_polling {
            return;
        }
        *is_polling = true;
        let left = poller.due().map(|due| due.duration_since(SystemTime::now()).unwrap_or_default());
        let source = Arc::clone(source);
        self.polls.spawn(async move { (index, source.receive(room, left.unwrap_or(LONGEST_POLL)).await) });
    }

    fn start(&mut self, index: usize, messages: Vec<Received>) {
        let Mapping { source, .. } = &self.mappings[index];
        let MappingConfig { function, .. } = &source.config;
        let Some(pool) = self.functions.get_mut(function) else { return };
        let (function, idle) = (Arc::clone(&pool.function), pool.begin());
        let request_id = Uuid::new_v4().to_string();
        EventKind::begun(&source.config, &request_id, &messages).for_each(|event| source.report(event));
        let event = mapping::event(&messages, &source.queue.arn, |stamp| stamp);
        let (show, logging) = (function.config.show_output, Arc::clone(source));
        let log = Log::new(SystemTime::now(), move |_, line| {
            if let LogLine::Own(line) = line
                && show
            {
                logging.report(EventKind::Output { function: logging.config.function.clone(), line });
            }
        });
        let invocation = Invocation { mapping: index, request_id, messages, running: self.clock.running() };
        let (source, stop) = (Arc::clone(source), self.stop.clone());
        self.invocations.spawn(async move {
            let finished = invocation.run(function, idle, event, log, stop).await;
            source.settle(&finished).await;
            finished
        });
    }

    fn finish(&mut self, finished: Finished) {
        let Mapping { poller, source, .. } = &mut self.mappings[finished.invocation.mapping];
        poller.end();
        let Some(pool) = self.functions.get_mut(&poller.config.function) else { return };
        if let Some(gave_up) = pool.end(finished) {
            source.report(gave_up);
        }
    }
}
