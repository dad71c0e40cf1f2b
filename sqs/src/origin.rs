//! Where a message began that was sent back: what its key for idempotency is made of.

use serde::{Deserialize, Serialize};

use crate::attribute::Attributes;

/// Where a message began that was sent back from a dead-letter queue: the JSON of its attribute `redrive.origin`.
///
/// Any sender can give a message this attribute.
///
/// ```
/// # use redrive_sqs as redrive;
/// let origin: redrive::Origin = serde_json::from_str(r#"{"message_id": "a1", "redrives": 2}"#)?;
/// assert_eq!((origin.message_id.as_str(), origin.redrives), ("a1", 2));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The id of its first life.
    pub message_id: String,
    /// How often it was sent back.
    pub redrives: u32,
}

impl Origin {
    /// The message attribute that carries it.
    pub const ATTRIBUTE: &str = "redrive.origin";

    /// What a letter carries when it is sent back: the id of its first life, and how often that was done by then.
    ///
    /// ```
    /// # use redrive_sqs as redrive;
    /// let first = redrive::Origin::of_letter("a1", None);
    /// let second = redrive::Origin::of_letter("b2", Some(&first));
    /// assert_eq!((second.message_id.as_str(), second.redrives), ("a1", 2));
    /// ```
    #[must_use]
    pub fn of_letter(message_id: &str, earlier: Option<&Self>) -> Self {
        match earlier {
            Some(earlier) => {
                Self { message_id: earlier.message_id.clone(), redrives: earlier.redrives.saturating_add(1) }
            }
            None => Self { message_id: message_id.to_owned(), redrives: 1 },
        }
    }

    /// The origin among the attributes of a message, if it has one.
    #[must_use]
    pub fn find(attributes: &Attributes) -> Option<Self> {
        serde_json::from_str(attributes.get(Self::ATTRIBUTE)?.as_str()?).ok()
    }
}
