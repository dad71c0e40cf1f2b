//! What is said to those whose function runs redrive, and to all others.

/// A text of a check.
#[derive(Debug, Clone, Copy)]
pub(super) enum Words {
    /// The same to everybody.
    All(&'static str),
    /// Of a check that finds nothing about other functions.
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

    /// Whether it says nothing to those without redrive.
    pub(super) const fn is_of_redrive(self) -> bool {
        matches!(self, Self::Redrive(_))
    }

    /// What it says of functions that run redrive, where that is something else.
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

    /// Parts of redrive's library, which others do not have.
    const OURS: [&str; 6] =
        ["REDRIVE_", "Failure::", "Consumer::", "redrive sets", "redrive catches", "With redrive"];

    #[test]
    fn nobody_is_advised_to_call_what_they_do_not_have() {
        for check in ALL {
            for words in [check.why, check.fix] {
                let is_about_ours = |text: &str| OURS.iter().any(|ours| text.contains(ours));
                match words {
                    Words::Redrive(_) => {}
                    Words::All(text) => assert!(!is_about_ours(text), "{}: {text}", check.code),
                    Words::Each { redrive, other } => {
                        assert!(!is_about_ours(other) && redrive != other, "{}: {other}", check.code);
                    }
                }
            }
        }
    }
}
