//! Checks names and keys. Both are in one index entry, for which Postgres allows 2,704 bytes.

use crate::InboxError;

const LONGEST_NAME: usize = 255;
const LONGEST_KEY: usize = 1024;

/// The name of an inbox, which is the name of its consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InboxName(String);

impl InboxName {
    pub(crate) fn new(name: String) -> Result<Self, InboxError> {
        match fault(&name, LONGEST_NAME) {
            Some(fault) => Err(InboxError::Name(fault)),
            None => Ok(Self(name)),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

pub(crate) fn check_key(key: &str) -> Result<(), InboxError> {
    fault(key, LONGEST_KEY).map_or(Ok(()), |fault| Err(InboxError::key(&fault)))
}

/// Describes why a name or key is not allowed. An empty key is a missing field: all messages without it would count as one.
fn fault(text: &str, longest: usize) -> Option<String> {
    if text.is_empty() || text.len() > longest {
        return Some(format!("has {} bytes, allowed: 1 to {longest}", text.len()));
    }
    text.find('\0').map(|at| format!("has a NUL at byte {at}, allowed: any other character"))
}

#[cfg(test)]
mod tests {
    use redrive::Failure;

    use super::*;

    #[test]
    fn a_name_has_1_to_255_bytes_and_no_nul() {
        for name in ["payments", "é", &"n".repeat(255)] {
            assert_eq!(InboxName::new(name.to_owned()).unwrap().as_str(), name);
        }
        let refused = |name: &str| InboxName::new(name.to_owned()).unwrap_err().to_string();
        assert_eq!(refused(""), "the name of the inbox has 0 bytes, allowed: 1 to 255");
        assert_eq!(refused(&"é".repeat(128)), "the name of the inbox has 256 bytes, allowed: 1 to 255");
        assert_eq!(
            refused("pay\0"),
            "the name of the inbox has a NUL at byte 3, allowed: any other character"
        );
    }

    #[test]
    fn a_message_whose_key_is_not_allowed_is_rejected() {
        for key in ["k", "é", " ", &"k".repeat(1024)] {
            check_key(key).unwrap();
        }
        for (key, expected) in [
            ("".to_owned(), "has 0 bytes, allowed: 1 to 1024"),
            ("é".repeat(513), "has 1026 bytes, allowed: 1 to 1024"),
            ("a\0b".to_owned(), "has a NUL at byte 1, allowed: any other character"),
        ] {
            let failure = Failure::from(check_key(&key).unwrap_err());
            assert!(failure.is_rejection());
            assert_eq!(failure.reason(), Some("inbox-key"));
            assert_eq!(
                failure.to_string(),
                format!("the inbox cannot record the key: rejected: the key {expected}")
            );
        }
    }
}
