//! The record of a run. Messages are numbered in the order in which they were sent.

use std::time::Duration;

use redrive_local::{AttributeValue, QueueEvent};

use super::BatchReport;
use super::scenario::Says;

/// All that happened to the messages of one run.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) ids: Vec<String>,
    pub(crate) invocations: Vec<Invocation>,
    /// By the redrive policy.
    pub(crate) moved: Vec<usize>,
    /// What the queues hold in the end.
    pub(crate) left_in_source: usize,
    pub(crate) left_in_dead: usize,
    /// The run was ended although messages were left.
    pub(crate) cut_short: bool,
}

#[derive(Debug)]
pub(crate) struct Invocation {
    /// Since the run began.
    pub(crate) began: Duration,
    pub(crate) took: Duration,
    /// Messages and attempts, in the order of the records.
    pub(crate) received: Vec<(usize, u32)>,
    pub(crate) runs: Vec<Run>,
    /// Visibility changes that SQS made, in seconds.
    pub(crate) hidden: Vec<(usize, u64)>,
    /// Letters that SQS took in.
    pub(crate) letters: Vec<usize>,
    pub(crate) deleted: Vec<usize>,
    pub(crate) ending: Ending,
    pub(crate) report: Option<BatchReport>,
    /// A call to SQS went wrong.
    pub(crate) disturbed: bool,
    /// A letter may have been written without the function's knowing, or twice.
    pub(crate) doubtful: bool,
}

/// One call of the handler with one message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) message: usize,
    pub(crate) attempt: u32,
    /// What it said, unless it was cancelled.
    pub(crate) said: Option<Says>,
    /// Since the run of the simulation began.
    pub(crate) ended: Duration,
    /// Of a bulk handler, from 1: the first and the last that took the message at this delivery.
    pub(crate) first_call: u32,
    pub(crate) last_call: u32,
    /// It was ruled on by itself.
    pub(crate) is_ruled: bool,
}

impl Run {
    /// One that has only just begun, of a handler that takes one message.
    pub(crate) fn alone(message: usize, attempt: u32) -> Self {
        let (said, ended) = (None, Duration::ZERO);
        Self { message, attempt, said, ended, first_call: 0, last_call: 0, is_ruled: false }
    }

    pub(crate) fn is_of_one_call_with(&self, other: &Self) -> bool {
        self.first_call > 0 && self.first_call == other.first_call
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The mapping did what the response said, which named these as failed.
    Settled { failed: Vec<String> },
    /// The mapping found fault with the response.
    BadResponse(String),
    /// The mapping never had the response.
    Lost,
    /// It died before it answered.
    Killed,
}

impl History {
    /// Takes in what the redrive policy did at a receive.
    pub(crate) fn note_moved(&mut self, events: &[QueueEvent]) {
        for event in events {
            if let QueueEvent::Moved { message_id, .. } = event {
                let message = self.number(message_id);
                self.moved.push(message);
            }
        }
    }

    /// Takes in what happened at the queues because of the last invocation.
    pub(crate) fn note(&mut self, events: &[QueueEvent]) {
        let numbers: Vec<_> =
            events.iter().map(|event| self.number(subject(event).as_deref().unwrap_or(""))).collect();
        let Some(invocation) = self.invocations.last_mut() else { return };
        for (event, message) in events.iter().zip(numbers) {
            match event {
                QueueEvent::Sent { .. } => invocation.letters.push(message),
                QueueEvent::VisibilityChanged { timeout, .. } => {
                    invocation.hidden.push((message, timeout.as_secs()));
                }
                QueueEvent::Deleted { .. } => invocation.deleted.push(message),
                _ => panic!("this cannot come of an invocation: {event:?}"),
            }
        }
    }

    /// Whether a message that panicked in this invocation did so after another, with no success between them in the
    /// same process; nothing if it did not panic, or things happened at one moment.
    pub(crate) fn panicked_again(&self, invocation: usize, message: usize) -> Option<bool> {
        let it = self.invocations[invocation].run(message)?;
        // The panics of a chunk are counted when all its calls have ended, which is not known here.
        if it.said != Some(Says::Panic) || it.last_call > 0 {
            return None;
        }
        let process = self.invocations[..invocation].iter().rposition(|it| it.ending == Ending::Killed);
        let process = &self.invocations[process.map_or(0, |killed| killed + 1)..=invocation];
        let runs = process.iter().flat_map(|invocation| &invocation.runs);
        let tells = |run: &&Run| run.said.is_some_and(|says| says.is_done() || says == Says::Panic);
        let others = runs.filter(tells).filter(|run| (run.message, run.attempt) != (it.message, it.attempt));
        let before: Vec<_> = others.filter(|run| run.ended <= it.ended).collect();
        let Some(latest) = before.iter().map(|run| run.ended).max() else { return Some(false) };
        let latest: Vec<_> = before.iter().filter(|run| run.ended == latest).collect();
        let panicked = latest.iter().filter(|run| run.said == Some(Says::Panic)).count();
        let at_one_moment = latest[0].ended == it.ended || (panicked > 0 && panicked < latest.len());
        (!at_one_moment).then_some(panicked > 0)
    }

    pub(crate) fn number(&self, id: &str) -> usize {
        self.ids.iter().position(|known| known == id).expect("every event is about a message that was sent")
    }

    /// The deliveries of a message in order.
    pub(crate) fn deliveries(&self, message: usize) -> impl Iterator<Item = (&Invocation, u32)> {
        self.invocations.iter().filter_map(move |invocation| Some((invocation, invocation.attempt(message)?)))
    }
}

/// The message that an event is about: for a letter, the one in its note.
fn subject(event: &QueueEvent) -> Option<String> {
    match event {
        QueueEvent::Sent { attributes, .. } => {
            let AttributeValue::Text(note) = &attributes.get("redrive.dead-letter")?.value else {
                return None;
            };
            let note: serde_json::Value = serde_json::from_str(note).ok()?;
            Some(note["message_id"].as_str()?.to_owned())
        }
        QueueEvent::Received { message_id, .. }
        | QueueEvent::VisibilityChanged { message_id, .. }
        | QueueEvent::Deleted { message_id, .. }
        | QueueEvent::Moved { message_id, .. }
        | QueueEvent::Expired { message_id, .. } => Some(message_id.clone()),
        _ => panic!("an event that the simulation does not know: {event:?}"),
    }
}

impl Invocation {
    /// One that has only just begun.
    pub(crate) fn new(began: Duration, received: Vec<(usize, u32)>) -> Self {
        Self {
            began,
            took: Duration::ZERO,
            received,
            runs: Vec::new(),
            hidden: Vec::new(),
            letters: Vec::new(),
            deleted: Vec::new(),
            ending: Ending::Killed,
            report: None,
            disturbed: false,
            doubtful: false,
        }
    }

    pub(crate) fn attempt(&self, message: usize) -> Option<u32> {
        self.received.iter().find(|(received, _)| *received == message).map(|&(_, attempt)| attempt)
    }

    pub(crate) fn run(&self, message: usize) -> Option<&Run> {
        self.runs.iter().find(|run| run.message == message)
    }

    pub(crate) fn says(&self, message: usize) -> Option<Says> {
        self.run(message)?.said
    }

    pub(crate) fn panicked(&self, message: usize) -> bool {
        self.says(message) == Some(Says::Panic)
    }

    pub(crate) fn is_done(&self, message: usize) -> bool {
        self.says(message).is_some_and(Says::is_done)
    }

    /// The mapping settled it and no call failed.
    pub(crate) fn is_calm(&self) -> bool {
        !self.disturbed && matches!(self.ending, Ending::Settled { .. })
    }

    /// The visibility timeout that was set last.
    pub(crate) fn hidden_for(&self, message: usize) -> Option<u64> {
        self.hidden.iter().rev().find(|(hidden, _)| *hidden == message).map(|&(_, seconds)| seconds)
    }

    /// Whether some handler finished its message.
    pub(crate) fn finished_something(&self) -> bool {
        self.received.iter().any(|&(message, _)| self.is_done(message))
    }
}
