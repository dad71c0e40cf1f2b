//! Errors of programs in other languages.

use redrive_sqs::cut_to;

/// The longest name of a type, in bytes.
const LONGEST_NAME: usize = 128;

/// An error of a program in another language. Notes and logs contain the name of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ForeignError {
    type_name: String,
    message: String,
}

impl ForeignError {
    /// Creates an error from the name of its type, such as `ValueError`, and a message.
    #[must_use]
    pub fn new(type_name: &str, message: impl Into<String>) -> Self {
        Self { type_name: cut_to(type_name, LONGEST_NAME).into_owned(), message: message.into() }
    }

    pub(crate) fn type_name(&self) -> &str {
        &self.type_name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn the_note_has_the_type_of_another_language() {
        let summary =
            Failure::reject(ForeignError::new("java.lang.IllegalStateException", "closed")).reduce(None);
        assert_eq!((&*summary.exception, &*summary.error), ("java.lang.IllegalStateException", "closed"));
        let long = Failure::from(ForeignError::new(&"x".repeat(1_000), "")).reduce(None);
        assert!(long.exception.len() <= LONGEST_NAME + 3, "{}", long.exception.len());
    }
}
