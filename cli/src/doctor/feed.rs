//! Which queue feeds which function, and where its letters end.

use redrive::Metrics;
use redrive::tools::variable_of_queue;

use crate::subject::{Function, Mapping, Queue, Seen, Subject};

pub(super) const DEFAULT_NAMESPACE: &str = "Redrive";

/// A mapping with both of its ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feed<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) source: &'a Queue,
    pub(super) function: &'a Function,
}

/// The mappings of which both ends were looked at.
pub(super) fn feeds(subject: &Subject) -> impl Iterator<Item = Feed<'_>> {
    subject.mappings.iter().filter_map(|mapping| {
        let (source, function) = (subject.source_of(mapping)?, subject.function_of(mapping)?);
        Some(Feed { mapping, source, function })
    })
}

/// The same with functions that can be redrive's.
pub(super) fn redrive_feeds(subject: &Subject) -> impl Iterator<Item = Feed<'_>> {
    feeds(subject).filter(|feed| feed.function.may_run_redrive())
}

/// The queues that feed functions, each once.
pub(super) fn sources(subject: &Subject) -> impl Iterator<Item = &Queue> {
    subject.queues.iter().filter(|queue| feeds_anything(subject, queue))
}

fn feeds_anything(subject: &Subject, queue: &Queue) -> bool {
    subject.mappings.iter().any(|mapping| mapping.queue_arn.as_deref() == Some(&queue.arn))
}

/// The queues in which the letters of others end, each once.
pub(super) fn dead_letter_queues(subject: &Subject) -> impl Iterator<Item = &Queue> {
    subject
        .queues
        .iter()
        .filter(|dead| subject.queues.iter().any(|queue| queue.dead_letter_target() == Some(&dead.arn)))
}

impl<'a> Feed<'a> {
    /// A variable of the function, as it holds for this queue: that of the queue's entry in `REDRIVE_QUEUES`, if there is
    /// one. An empty one counts as absent.
    pub(super) fn variable(&self, name: &str) -> Seen<String> {
        match (self.function.variable("REDRIVE_QUEUES"), self.function.variable(name)) {
            (Seen::Unknown, _) => Seen::Unknown,
            (Seen::There(_), Seen::There(_) | Seen::Absent) => {
                let variable = |name: &str| self.function.variable(name).there().map(|it| (*it).to_owned());
                variable_of_queue(&self.source.arn, name, variable).into()
            }
            (Seen::Absent, Seen::There(value)) => Seen::There(value.to_owned()),
            (_, Seen::Unknown) => Seen::Unknown,
            (Seen::Absent, Seen::Absent) => Seen::Absent,
        }
    }

    /// Where the function's metrics go, none if that is not known or cannot be kept.
    pub(super) fn sink(&self) -> Option<Metrics> {
        match self.function.variable("REDRIVE_METRICS") {
            Seen::Absent | Seen::There("cloudwatch") => Some(Metrics::CloudWatch),
            Seen::There("emf") => Some(Metrics::Emf),
            Seen::There("off") => Some(Metrics::Off),
            Seen::There(_) | Seen::Unknown => None,
        }
    }

    /// Where the function's metrics are found.
    pub(super) fn namespace(&self) -> Option<&'a str> {
        self.function.variable("REDRIVE_METRICS_NAMESPACE").or(DEFAULT_NAMESPACE)
    }
}
