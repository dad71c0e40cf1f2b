//! One line for people. Pure.

use std::time::Duration;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventLine {
    pub(super) at: Duration,
    /// Number and id of the message, if the line is about one.
    pub(super) message: Option<(usize, String)>,
    pub(super) tone: Tone,
    pub(super) word: &'static str,
    pub(super) detail: String,
}

impl EventLine {
    pub(super) fn is_about(&self, message_id: &str) -> bool {
        self.message.as_ref().is_some_and(|(_, id)| id == message_id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Quiet,
    Good,
    Warning,
    Bad,
}
