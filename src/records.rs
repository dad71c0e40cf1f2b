//! The records of one event together with the bytes that they borrow from, so that the tasks of a batch can share them.

use aws_lambda_events::sqs::SqsEvent;
use bytes::Bytes;
use self_cell::self_cell;

use crate::error::{Error, Kind};
use crate::event::{Entry, Event, Other};
use crate::record::{Limits, Record};

type List<'event> = Vec<Record<'event>>;

self_cell! {
    /// A list of records and what it borrows from.
    pub(crate) struct Records {
        owner: Received,
        #[covariant]
        dependent: List,
    }

    impl {Debug}
}

#[derive(Debug)]
enum Received {
    Payload(Bytes),
    Event(SqsEvent),
}

impl Records {
    /// From the payload of an invocation.
    pub(crate) fn read(payload: Bytes, limits: &Limits) -> Result<Self, Error> {
        Self::try_new(Received::Payload(payload), |received| {
            let Received::Payload(payload) = received else { unreachable!("it was made here") };
            let other = |fault: Option<&_>| Other::of_payload(payload, fault);
            let text = std::str::from_utf8(payload).map_err(|_not_utf8| other(None))?;
            let event = Event::read(text).map_err(|fault| other(Some(&fault)))?;
            list(event.records.into_iter(), limits, || other(None))
        })
    }

    pub(crate) fn of(event: SqsEvent, limits: &Limits) -> Result<Self, Error> {
        Self::try_new(Received::Event(event), |received| {
            let Received::Event(event) = received else { unreachable!("it was made here") };
            list(event.records.iter().map(Entry::from), limits, || Other::of_event(event))
        })
    }

    pub(crate) fn list(&self) -> &[Record<'_>] {
        self.borrow_dependent()
    }
}

fn list<'event>(
    entries: impl ExactSizeIterator<Item = Entry<'event>>,
    limits: &Limits,
    other: impl Fn() -> Other,
) -> Result<List<'event>, Error> {
    let record = |(at, entry): (usize, Entry<'event>)| {
        if entry.is_other() {
            return Err(other().into());
        }
        Record::new(entry, limits).ok_or(Error(Kind::MissingMessageId(at)))
    };
    let mut list = Vec::with_capacity(entries.len());
    for record in entries.enumerate().map(record) {
        list.push(record?);
    }
    Ok(list)
}
