//! Queues with the functions and workers that they feed, and dead-letter queues.

use redrive::Metrics;
use redrive::tools::{metric_names, variable_of_queue};
use redrive_iac::deployment::{
    Deployment, Function, IDEMPOTENCY_TABLE, Mapping, Process, Queue, Seen, Worker,
};

pub(super) const DEFAULT_NAMESPACE: &str = "Redrive";

/// A queue with the function or worker that handles its messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Consumer<'a> {
    pub(super) source: &'a Queue,
    pub(super) id: &'a str,
    pub(super) process: &'a Process,
    pub(super) kind: ConsumerKind<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ConsumerKind<'a> {
    Function(&'a Function),
    Worker(&'a Worker),
}

/// A mapping with its queue and its function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feed<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) source: &'a Queue,
    pub(super) function: &'a Function,
}

impl<'a> Feed<'a> {
    pub(super) fn consumer(self) -> Consumer<'a> {
        let Self { source, function, .. } = self;
        Consumer {
            source,
            id: &function.id,
            process: &function.process,
            kind: ConsumerKind::Function(function),
        }
    }
}

/// Returns the mappings whose queue and function were read.
pub(super) fn feeds(deployment: &Deployment) -> impl Iterator<Item = Feed<'_>> {
    deployment.mappings.iter().filter_map(|mapping| {
        let (source, function) = (deployment.source_of(mapping)?, deployment.function_of(mapping)?);
        Some(Feed { mapping, source, function })
    })
}

/// Returns the mappings whose function may run redrive.
pub(super) fn redrive_feeds(deployment: &Deployment) -> impl Iterator<Item = Feed<'_>> {
    feeds(deployment).filter(|feed| feed.function.may_run_redrive())
}

/// Returns the functions and workers whose queues were read, with these.
pub(super) fn consumers(deployment: &Deployment) -> impl Iterator<Item = Consumer<'_>> {
    let functions = feeds(deployment).map(Feed::consumer);
    let workers = deployment.workers.iter().filter_map(|worker| {
        let source = deployment.polled_by(worker)?;
        Some(Consumer {
            source,
            id: &worker.id,
            process: &worker.process,
            kind: ConsumerKind::Worker(worker),
        })
    });
    functions.chain(workers)
}

/// Returns the consumers that may run redrive.
pub(super) fn redrive_consumers(deployment: &Deployment) -> impl Iterator<Item = Consumer<'_>> {
    consumers(deployment).filter(Consumer::may_run_redrive)
}

/// Returns each queue that feeds something, with a word for its consumer.
pub(super) fn sources(deployment: &Deployment) -> impl Iterator<Item = (&Queue, &'static str)> {
    deployment.queues.iter().filter_map(|queue| Some((queue, fed_by(deployment, queue)?)))
}

fn fed_by(deployment: &Deployment, queue: &Queue) -> Option<&'static str> {
    let function = deployment.feeds_a_function(&queue.arn).then_some("function");
    let worker = || deployment.feeds_a_worker(&queue.arn).then_some("worker");
    function.or_else(worker).or_else(|| queue.other_receiver.as_ref().map(|_| "consumer"))
}

/// Returns true for a metric that redrive publishes to any sink.
pub(super) fn is_redrive_metric(name: &str) -> bool {
    metric_names(Metrics::Emf).contains(&name)
}

/// Returns each queue that receives dead letters, from queues or other senders.
pub(super) fn letter_queues(deployment: &Deployment) -> impl Iterator<Item = &Queue> {
    deployment.queues.iter().filter(|queue| is_letter_queue(deployment, queue))
}

/// Returns true if a queue receives dead letters.
pub(super) fn is_letter_queue(deployment: &Deployment, queue: &Queue) -> bool {
    queue.takes_other_letters || deployment.is_dead_letter_queue(&queue.arn)
}

/// Returns true if something receives from a queue.
pub(super) fn is_received_from(deployment: &Deployment, queue: &Queue) -> bool {
    deployment.is_received_from(&queue.arn)
}

impl<'a> Consumer<'a> {
    pub(super) fn may_run_redrive(&self) -> bool {
        match self.kind {
            ConsumerKind::Function(function) => function.may_run_redrive(),
            ConsumerKind::Worker(_) => true,
        }
    }

    /// Returns a variable as it applies to this queue: from the queue's entry in `REDRIVE_QUEUES`, if there is one. An empty
    /// variable counts as absent.
    pub(super) fn variable(&self, name: &str) -> Seen<String> {
        match (self.process.variable("REDRIVE_QUEUES"), self.process.variable(name)) {
            (Seen::Unknown, _) => Seen::Unknown,
            (Seen::There(_), Seen::There(_) | Seen::Absent) => {
                let variable = |name: &str| self.process.variable(name).there().map(|it| (*it).to_owned());
                variable_of_queue(&self.source.arn, name, variable).into()
            }
            (Seen::Absent, Seen::There(value)) => Seen::There(value.to_owned()),
            (_, Seen::Unknown) => Seen::Unknown,
            (Seen::Absent, Seen::Absent) => Seen::Absent,
        }
    }

    /// Returns the name or the ARN of its idempotency table, as in the variable.
    pub(super) fn idempotency_table(&self) -> Option<&'a str> {
        self.process.variable(IDEMPOTENCY_TABLE).there().copied()
    }

    /// Returns the sink of its metrics, or `None` if that is unknown or invalid.
    pub(super) fn sink(&self) -> Option<Metrics> {
        match self.process.variable("REDRIVE_METRICS") {
            Seen::Absent | Seen::There("cloudwatch") => Some(Metrics::CloudWatch),
            Seen::There("emf") => Some(Metrics::Emf),
            Seen::There("off") => Some(Metrics::Off),
            Seen::There(_) | Seen::Unknown => None,
        }
    }

    /// Returns true if it publishes a metric of redrive's, or if its sink is unknown.
    pub(super) fn publishes(&self, name: &str) -> bool {
        self.sink().is_none_or(|sink| metric_names(sink).contains(&name))
    }

    /// Returns the namespace of its metrics.
    pub(super) fn namespace(&self) -> Option<&'a str> {
        self.process.variable("REDRIVE_METRICS_NAMESPACE").or(DEFAULT_NAMESPACE)
    }
}
