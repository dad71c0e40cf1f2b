//! Which queue feeds which function, and where its letters end.

use crate::subject::{Function, Mapping, Queue, Subject};

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
    subject.queues.iter().filter(|dead| {
        subject.queues.iter().any(|queue| {
            let target = queue.redrive_policy.there().and_then(|it| it.dead_letter_target_arn.as_ref());
            target == Some(&dead.arn)
        })
    })
}

impl Feed<'_> {
    /// The most deliveries of a message, by the redrive policy.
    pub(super) fn max_receive_count(&self) -> Option<u32> {
        self.source.redrive_policy.there()?.max_receive_count
    }
}
