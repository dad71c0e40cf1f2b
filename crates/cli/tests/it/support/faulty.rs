//! Runs the command against an AWS that fails some calls.

use super::{Ran, Words, command_at};
use crate::proxy::{Call, Fate, Proxy};

/// All calls of this action meet this fate.
pub(crate) fn on(action: &'static str, fate: Fate) -> impl Fn(&Call, usize) -> Fate {
    at_first(usize::MAX, action, fate)
}

/// So many calls of this action meet this fate, and then no more.
pub(crate) fn at_first(calls: usize, action: &'static str, fate: Fate) -> impl Fn(&Call, usize) -> Fate {
    move |call, before| if call.action == action && before < calls { fate.clone() } else { Fate::Answered }
}

impl Proxy {
    /// Runs `redrive` against what is behind this proxy.
    pub(crate) fn redrive(&self, line: &(impl Words + ?Sized)) -> Ran {
        self.redrive_with(line, "")
    }

    /// The same with a text on its standard input.
    pub(crate) fn redrive_with(&self, line: &(impl Words + ?Sized), stdin: &str) -> Ran {
        Ran::of(command_at(&self.url, line).write_stdin(stdin))
    }

    /// How many entries each call of this action had.
    pub(crate) fn sizes(&self, action: &str) -> Vec<usize> {
        self.entries(&[action]).into_iter().map(|(_, entries)| entries).collect()
    }
}
