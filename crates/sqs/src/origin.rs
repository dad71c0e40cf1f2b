//! The origin of a message that was sent back from a dead-letter queue. Its idempotency key is derived from it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attribute::{Attribute, Attributes};
use crate::message::is_sqs_char;

/// The origin of a message that was sent back from a dead-letter queue: the JSON of its attribute `redrive.origin`.
///
/// Any sender can set this attribute. `Consumer::origin_senders` lists the senders that redrive trusts.
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
    /// The message id before it was first sent back.
    pub message_id: String,
    /// How often the message was sent back.
    pub redrives: u32,
}

impl Origin {
    /// The message attribute that carries the origin.
    pub const ATTRIBUTE: &str = "redrive.origin";

    /// Creates the origin of a message that first had this id and was sent back this often.
    pub fn new(message_id: impl Into<String>, redrives: u32) -> Self {
        Self { message_id: message_id.into(), redrives }
    }

    /// Returns the origin among the attributes of a message, if it has one.
    #[must_use]
    pub fn find(attributes: &Attributes) -> Option<Self> {
        serde_json::from_str(attributes.get(Self::ATTRIBUTE)?.as_str()?).ok()
    }
}

/// The value of `redrive.origin`. Characters that SQS does not accept become U+FFFD.
impl From<Origin> for Attribute {
    fn from(origin: Origin) -> Self {
        let json = serde_json::to_string(&origin).expect("an origin is a string and a number");
        json.replace(|c: char| !is_sqs_char(c), "\u{fffd}").into()
    }
}

/// Returns the origin for a letter that is sent back: the id of its first message, and how often it was sent back, this time
/// included.
///
/// ```
/// # mod redrive { pub(crate) use redrive_sqs as tools; }
/// use redrive::tools::origin_of_letter;
///
/// let first = origin_of_letter("a1", None);
/// let second = origin_of_letter("b2", Some(&first));
/// assert_eq!((second.message_id.as_str(), second.redrives), ("a1", 2));
/// ```
#[must_use]
pub fn origin_of_letter(message_id: &str, earlier: Option<&Origin>) -> Origin {
    match earlier {
        Some(earlier) => Origin::new(&earlier.message_id, earlier.redrives.saturating_add(1)),
        None => Origin::new(message_id, 1),
    }
}

/// The senders whose `redrive.origin` counts: unique ids of IAM users and roles.
///
/// SQS names the sender of a message in the system attribute `SenderId`: the unique id of a user, or the unique id of a role,
/// a colon and the session's name. Nobody can choose the id. Anyone who may assume the role chooses the name, so trust a
/// session no more than its role. The 12 digits of an account are its root user. With a colon and a name, they are a
/// federated user.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html>
///
/// ```
/// # use redrive_sqs as redrive;
/// let senders = redrive::OriginSenders::new(["AROAEXAMPLEOPERATOR"]);
/// assert!(senders.has("AROAEXAMPLEOPERATOR:ada"));
/// assert!(!senders.has("AROAEXAMPLEWEBSHOP:i-0a1b2c3d"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginSenders(Arc<[String]>);

impl OriginSenders {
    /// Creates a list of senders. The id of a role covers all its sessions. With a colon and a session's name, it covers only
    /// sessions of that name.
    pub fn new<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        Self(ids.into_iter().map(Into::into).collect())
    }

    /// Parses a list that is separated by commas.
    ///
    /// # Errors
    /// Returns the first id that no sender can have.
    pub fn parse(list: &str) -> Result<Self, String> {
        let senders = Self::new(list.split(',').map(str::trim));
        senders.fault().map_or(Ok(senders.clone()), |fault| Err(fault.to_owned()))
    }

    /// Returns the first id in the list that no sender can have.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        let is_sign = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
        let is_unique_id = |id: &str| !id.is_empty() && id.chars().all(is_sign);
        self.0.iter().map(String::as_str).find(|id| !is_unique_id(id.split(':').next().unwrap_or_default()))
    }

    /// Returns true if one of these senders sent the message with this `SenderId`.
    #[must_use]
    pub fn has(&self, sender_id: &str) -> bool {
        let role = sender_id.split(':').next().unwrap_or_default();
        self.0.iter().any(|id| id == sender_id || id == role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_stands_for_all_its_sessions_and_nobody_for_anybody_else() {
        let senders = OriginSenders::parse("AIDAUSER, AROAROLE,AROAOTHER:ci,123456789012").unwrap();
        for trusted in ["AIDAUSER", "AROAROLE", "AROAROLE:ada", "AROAROLE:ada:1", "AROAOTHER:ci"] {
            assert!(senders.has(trusted), "{trusted}");
        }
        for of_the_account in ["123456789012", "123456789012:a-federated-user"] {
            assert!(senders.has(of_the_account), "{of_the_account}");
        }
        for stranger in ["", ":", "AIDA", "AIDAUSER2", "aidauser", "AROAOTHER", "AROAOTHER:ada", "x:AROAROLE"]
        {
            assert!(!senders.has(stranger), "{stranger}");
        }
        assert!(!OriginSenders::new([""; 0]).has(""));
    }

    #[test]
    fn an_invalid_unique_id_is_named() {
        for (list, fault) in [
            ("", ""),
            ("AIDAUSER,", ""),
            ("arn:aws:iam::123456789012:role/ops", "arn:aws:iam::123456789012:role/ops"),
            ("AIDAUSER,*", "*"),
            (":ada", ":ada"),
        ] {
            let parsed = OriginSenders::parse(list);
            assert_eq!(parsed, Err(fault.to_owned()), "{list}");
        }
    }
}
