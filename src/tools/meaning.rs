//! The meaning of a failed program in another language for its message.

use std::str::FromStr;
use std::time::Duration;

use crate::Failure;

/// The meaning that a user gives to an exit code, or to a type of error, by one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// The message is deleted.
    Done,
    /// The message returns after the backoff.
    Retry,
    /// The message becomes a dead letter at once.
    Reject,
    /// The message returns after the backoff, and is not counted as an error.
    Return,
    /// A dependency is down.
    Outage,
    /// The message is deleted, logged and counted as discarded.
    Discard,
}

impl Meaning {
    const WORDS: [(&str, Self); 6] = [
        ("done", Self::Done),
        ("retry", Self::Retry),
        ("reject", Self::Reject),
        ("return", Self::Return),
        ("outage", Self::Outage),
        ("discard", Self::Discard),
    ];

    /// The allowed words, as an error lists them.
    pub const ALLOWED: &str = "done, retry, reject, return, outage or discard";

    /// Returns the result of a handler for this error in this attempt.
    ///
    /// # Errors
    /// The failure, unless the message is done.
    pub fn result(self, error: impl Into<Failure>, attempt: u32) -> Result<(), Failure> {
        Err(match self {
            Self::Done => return Ok(()),
            Self::Retry => Failure::retry(error),
            Self::Reject => Failure::reject(error),
            Self::Return => Failure::defer(Duration::from_secs(1 << attempt.clamp(1, 9))),
            Self::Outage => Failure::outage(error),
            Self::Discard => Failure::discard(error),
        })
    }
}

impl FromStr for Meaning {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::WORDS.into_iter().find(|(word, _)| *word == text).map(|(_, meaning)| meaning).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meaning_has_a_word() {
        for (word, meaning) in Meaning::WORDS {
            assert_eq!(word.parse(), Ok(meaning));
            assert!(Meaning::ALLOWED.contains(word), "{word}");
        }
        for wrong in ["", "Retry", "drop", " retry"] {
            assert_eq!(wrong.parse::<Meaning>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn a_meaning_decides_what_a_handler_returns() {
        let failure = |meaning: Meaning| meaning.result("no such order", 3).unwrap_err();
        assert!(Meaning::Done.result("fine", 1).is_ok());
        assert!(failure(Meaning::Retry).is_retry());
        assert!(failure(Meaning::Reject).is_rejection());
        assert!(failure(Meaning::Outage).is_outage());
        assert!(failure(Meaning::Discard).is_discard());
        assert_eq!(failure(Meaning::Return).after(), Some(Duration::from_secs(8)));
    }
}
