//! The records of one event together with the bytes that they borrow from, so that the tasks of a batch can share them.

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_lambda_events::sqs::SqsEvent;
use bytes::Bytes;
use self_cell::self_cell;

use crate::error::event::Other;
use crate::error::{Error, Kind};
use crate::message::received::ReceivedMessage;
use crate::message::record::{BatchContext, Record};
use redrive_event::{Entry, Event};

type List<'event> = Vec<Record<'event>>;

self_cell! {
    /// A list of records with the event that it borrows from.
    pub(crate) struct Records {
        owner: Received,
        #[covariant]
        dependent: List,
    }

    impl {Debug}
}

/// An event as it was received.
#[derive(Debug, Clone)]
pub(crate) enum Received {
    Payload(Bytes),
    Event(SqsEvent),
    /// Messages that a worker has received from the queue of this ARN.
    ByWorker(Vec<Arc<ReceivedMessage>>, Arc<str>),
}

impl Records {
    /// Splits the records of an event by queue. Returns those of the first queue, and those of each other queue. Lambda sends
    /// the messages of one queue only.
    ///
    /// # Errors
    /// The payload is not an SQS event, a record has no message id, or there are no limits for a queue.
    pub(crate) fn by_queue(
        received: Received,
        context: impl Fn(&Entry<'_>) -> Result<BatchContext, Error>,
    ) -> Result<(Self, Vec<Self>), Error> {
        let (first, sources) = Self::of_queue(received, None, &context)?;
        let other = |source: &String| {
            let received = first.borrow_owner().clone();
            Self::of_queue(received, Some(source), &context).map(|(records, _)| records)
        };
        let others = sources.iter().map(other).collect::<Result<_, _>>()?;
        Ok((first, others))
    }

    /// Returns the records of this queue, or of the first one, and the ARNs of the others.
    fn of_queue(
        received: Received,
        source: Option<&str>,
        context: &impl Fn(&Entry<'_>) -> Result<BatchContext, Error>,
    ) -> Result<(Self, BTreeSet<String>), Error> {
        let mut others = BTreeSet::new();
        let records = Self::try_new(received, |received| match received {
            Received::Payload(payload) => {
                let other = |fault: Option<&_>| Other::of_payload(payload, fault);
                let text = std::str::from_utf8(payload).map_err(|_not_utf8| other(None))?;
                let event = Event::read(text).map_err(|fault| other(Some(&fault)))?;
                list(event.records.into_iter(), source, context, &mut others, || other(None))
            }
            Received::Event(event) => {
                let entries = event.records.iter().map(Entry::from);
                list(entries, source, context, &mut others, || Other::of_event(event))
            }
            Received::ByWorker(messages, arn) => {
                let entries = messages.iter().map(|message| message.entry(arn));
                list(entries, source, context, &mut others, || unreachable!("SQS sent them"))
            }
        })?;
        Ok((records, others))
    }

    pub(crate) fn list(&self) -> &[Record<'_>] {
        self.borrow_dependent()
    }

    /// Returns the ARN of the queue that all records come from.
    pub(crate) fn source(&self) -> &str {
        self.list().first().map_or("", Record::source)
    }
}

fn list<'event>(
    entries: impl ExactSizeIterator<Item = Entry<'event>>,
    source: Option<&str>,
    context: &impl Fn(&Entry<'_>) -> Result<BatchContext, Error>,
    others: &mut BTreeSet<String>,
    other: impl Fn() -> Other,
) -> Result<List<'event>, Error> {
    let mut list = Vec::with_capacity(entries.len());
    let mut of_queue: Option<(String, BatchContext)> = None;
    for (at, entry) in entries.enumerate() {
        if entry.is_other() {
            return Err(other().into());
        }
        let arn = entry.source();
        let (source, context) = match &mut of_queue {
            Some(of_queue) => of_queue,
            None => {
                let source = source.unwrap_or(arn);
                of_queue.insert((source.to_owned(), context(&entry)?))
            }
        };
        if arn == source {
            list.push(Record::new(entry, context).ok_or(Error(Kind::MissingMessageId(at)))?);
        } else {
            others.insert(arn.to_owned());
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests;
