//! What can go wrong with a call to AWS.

use std::fmt;

/// What happens to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// It is refused with a server error.
    Refused,
    /// It is throttled.
    Throttled,
    /// The role has no permission.
    Denied,
    /// There is never an answer, and nothing was done.
    Hangs,
    /// It was done, but the answer is lost.
    AnswerLost,
    /// It was done twice.
    Twice,
    /// The answer mentions no entry, and nothing was done.
    Blank,
    /// Every second entry of the batch fails at the service.
    HalfFails,
}

/// Decides on each call by its operation and its number, from 0.
pub(crate) struct Faults(Box<Decide>);

type Decide = dyn Fn(&str, usize) -> Fault + Send + Sync;

impl Faults {
    pub(crate) fn none() -> Self {
        Self::new(|_, _| Fault::None)
    }

    pub(crate) fn new(decide: impl Fn(&str, usize) -> Fault + Send + Sync + 'static) -> Self {
        Self(Box::new(decide))
    }

    /// The same fault for every call of an operation.
    pub(crate) fn always(operation: &'static str, fault: Fault) -> Self {
        Self::new(move |called, _| if called == operation { fault } else { Fault::None })
    }

    pub(crate) fn of(&self, operation: &str, number: usize) -> Fault {
        (self.0)(operation, number)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}
