//! Parts of a deployment that were not read. Each is reported. One that can hold a consumer fails `--strict`.

use super::Deployment;

/// Something that was not read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRead {
    /// A description for people.
    pub what: String,
    pub may_hold: MayHold,
}

/// The contents that a part that was not read can have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MayHold {
    /// A queue, a function, a worker or a mapping, or a value of one.
    #[default]
    Consumer,
    /// Permissions, alarms, tables and the like.
    Other,
}

impl NotRead {
    pub fn new(may_hold: MayHold, what: impl Into<String>) -> Self {
        Self { what: what.into(), may_hold }
    }

    /// Changes the description.
    #[must_use]
    pub fn worded(self, words: impl FnOnce(&str) -> String) -> Self {
        Self { what: words(&self.what), ..self }
    }
}

impl Deployment {
    /// Returns the descriptions of parts that were not read.
    pub fn lines_not_read(&self) -> Vec<&str> {
        self.not_seen.iter().map(|it| it.what.as_str()).collect()
    }

    /// Returns true if parts that were not read may hold a queue, a function, a worker or a mapping.
    pub fn may_hold_more(&self) -> bool {
        self.not_seen.iter().any(|it| it.may_hold == MayHold::Consumer)
    }
}
