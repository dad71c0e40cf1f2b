//! A handler that ends when and how the test decides.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use redrive::reexports::tokio;
use tokio::sync::oneshot;

use super::super::world::{Fact, HandlerEnd};
use redrive::{Failure, Handler, Message, Text};

/// The handlers that have begun, of all processes.
#[derive(Clone, Default)]
pub(super) struct Handlers(Arc<Mutex<Vec<Begun>>>);

pub(super) struct Begun {
    pub(super) who: usize,
    pub(super) message: usize,
    pub(super) attempt: u32,
    end: Option<End>,
}

/// The way to end a handler.
enum End {
    Waits(oneshot::Sender<HandlerEnd>),
    /// It blocks its thread.
    Blocks(mpsc::Sender<HandlerEnd>),
}

/// The handler of one process.
pub(super) struct Puppet {
    pub(super) who: usize,
    pub(super) handlers: Handlers,
    /// True if it blocks its thread, and so cannot be canceled.
    pub(super) blocks: bool,
    /// Receives a message when a handler has begun.
    pub(super) begins: mpsc::SyncSender<()>,
}

impl Begun {
    /// Returns true if it has neither ended nor been canceled.
    pub(super) fn runs(&self) -> bool {
        match &self.end {
            Some(End::Waits(end)) => !end.is_closed(),
            Some(End::Blocks(_)) => true,
            None => false,
        }
    }

    pub(super) fn is_of(&self, fact: &Fact) -> bool {
        (self.message, self.attempt) == (fact.message, fact.attempt)
    }
}

impl Handlers {
    pub(super) fn with<T>(&self, look: impl FnOnce(&[Begun]) -> T) -> T {
        look(&self.0.lock().unwrap())
    }

    /// Returns true if the handler of this delivery runs in that process.
    pub(super) fn run(&self, who: usize, fact: &Fact) -> bool {
        self.with(|begun| begun.iter().any(|it| it.who == who && it.is_of(fact) && it.runs()))
    }

    pub(super) fn end(&self, who: usize, fact: &Fact, says: HandlerEnd) {
        let mut begun = self.0.lock().unwrap();
        let running = begun.iter_mut().find(|it| it.who == who && it.is_of(fact) && it.runs());
        match running.and_then(|it| it.end.take()) {
            Some(End::Waits(end)) => drop(end.send(says)),
            Some(End::Blocks(end)) => drop(end.send(says)),
            None => {}
        }
    }

    /// Removes the handlers of a process that is gone.
    pub(super) fn clear(&self, who: usize) {
        self.0.lock().unwrap().iter_mut().filter(|it| it.who == who).for_each(|it| it.end = None);
    }
}

impl Handler<Message<Text>> for Puppet {
    type Error = Failure;

    async fn call(&self, message: Message<Text>) -> Result<(), Failure> {
        let number: usize = message.body.0[1..].parse()?;
        let (who, message, attempt) = (self.who, number - 1, message.attempt);
        let (waits, blocks) = (oneshot::channel(), mpsc::channel());
        let end = if self.blocks { End::Blocks(blocks.0) } else { End::Waits(waits.0) };
        self.handlers.0.lock().unwrap().push(Begun { who, message, attempt, end: Some(end) });
        let _ = self.begins.try_send(());
        let says = if self.blocks { blocks.1.recv().ok() } else { waits.1.await.ok() };
        match says {
            Some(HandlerEnd::Done) => Ok(()),
            Some(HandlerEnd::Rejects) => Err(Failure::reject("no")),
            Some(HandlerEnd::Outage) => Err(Failure::outage("down")),
            Some(HandlerEnd::Fails | HandlerEnd::DoneInPart) | None => Err("down".into()),
        }
    }
}
