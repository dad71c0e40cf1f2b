//! Converts the end of a worker into the result of its program.

use crate::error::{Error, Kind};
use redrive_engine::Exit;

/// Returns true if handlers were canceled. `signal` is the last one that arrived.
///
/// # Errors
/// Not everything was settled, or the process can handle no more messages.
pub(super) fn result_of(exit: Exit, signal: &str) -> Result<bool, Error> {
    match exit {
        Exit::Settled { canceled } => Ok(canceled),
        Exit::Unsettled(messages) => Err(unsettled(messages)),
        Exit::Unanswered => Err(Error::worker(
            "a poll was not answered before the worker ended: what it may bring comes back after its visibility timeout"
                .to_owned(),
        )),
        Exit::Because(why) => Err(why.into()),
        Exit::AtOnce(left) => Err(Error(Kind::AtOnce(format!(
            "{signal} came a second time: the worker ends at once, with {left} messages in hand"
        )))),
    }
}

fn unsettled(messages: usize) -> Error {
    let (are, they_come) =
        if messages == 1 { ("message was", "it comes") } else { ("messages were", "they come") };
    Error::worker(format!(
        "{messages} {are} not settled before the worker ended: {they_come} back after the visibility timeout"
    ))
}
