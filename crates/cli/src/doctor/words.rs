//! Texts of checks, which may differ for functions with and without redrive.

/// A text of a check.
#[derive(Debug, Clone, Copy)]
pub(super) enum Words {
    /// The same text for everybody.
    All(&'static str),
    /// The text of a check that reports only functions with redrive.
    Redrive(&'static str),
    Each {
        redrive: &'static str,
        other: &'static str,
    },
}

impl Words {
    pub(super) const fn to(self, runs_redrive: bool) -> &'static str {
        match self {
            Self::All(text) | Self::Redrive(text) => text,
            Self::Each { redrive, other } => {
                if runs_redrive {
                    redrive
                } else {
                    other
                }
            }
        }
    }

    /// Returns true if there is no text for functions without redrive.
    pub(super) const fn is_of_redrive(self) -> bool {
        matches!(self, Self::Redrive(_))
    }

    /// Returns the text for functions with redrive, if it differs from that for others.
    pub(super) const fn of_redrive_alone(self) -> Option<&'static str> {
        match self {
            Self::All(_) | Self::Redrive(_) => None,
            Self::Each { redrive, .. } => Some(redrive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::checks::ALL;

    /// Parts of redrive's library, which functions without it do not have.
    const LIBRARY_TERMS: [&str; 6] =
        ["REDRIVE_", "Failure::", "Consumer::", "redrive sets", "redrive catches", "With redrive"];

    #[test]
    fn texts_without_redrive_do_not_mention_its_library() {
        for check in ALL {
            for words in [check.why, check.fix] {
                let mentions_library = |text: &str| LIBRARY_TERMS.iter().any(|term| text.contains(term));
                match words {
                    Words::Redrive(_) => {}
                    Words::All(text) => assert!(!mentions_library(text), "{}: {text}", check.code),
                    Words::Each { redrive, other } => {
                        assert!(!mentions_library(other) && redrive != other, "{}: {other}", check.code);
                    }
                }
            }
        }
    }
}
