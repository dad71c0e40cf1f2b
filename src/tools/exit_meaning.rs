//! The meaning of a failed program in another language for its message.

use std::str::FromStr;
use std::time::Duration;

use crate::failure::Failure;

/// The meaning that a user gives to an exit code, or to a type of error, by one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitMeaning {
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

impl ExitMeaning {
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

impl FromStr for ExitMeaning {
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
        for (word, meaning) in ExitMeaning::WORDS {
            assert_eq!(word.parse(), Ok(meaning));
            assert!(ExitMeaning::ALLOWED.contains(word), "{word}");
        }
        for wrong in ["", "Retry", "drop", " retry"] {
            assert_eq!(wrong.parse::<ExitMeaning>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn a_meaning_decides_what_a_handler_returns() {
        let failure = |meaning: ExitMeaning| meaning.result("no such order", 3).unwrap_err();
        assert!(ExitMeaning::Done.result("fine", 1).is_ok());
        assert!(failure(ExitMeaning::Retry).is_retry());
        assert!(failure(ExitMeaning::Reject).is_rejection());
        assert!(failure(ExitMeaning::Outage).is_outage());
        assert!(failure(ExitMeaning::Discard).is_discard());
        assert_eq!(failure(ExitMeaning::Return).after(), Some(Duration::from_secs(8)));
    }
}
