//! Message attributes: named, typed values that a sender adds to the body.

use std::collections::BTreeMap;

/// The attributes of a message, by name.
///
/// ```
/// # use redrive_sqs as redrive;
/// use redrive::{Attribute, Attributes};
///
/// let attributes = Attributes::from([("tenant".into(), Attribute::text("String", "acme"))]);
/// assert_eq!(attributes["tenant"].as_bytes(), b"acme");
/// ```
pub type Attributes = BTreeMap<String, Attribute>;

/// One message attribute: a data type such as `String`, `Number.int` or `Binary`, and its value.
///
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>
///
/// ```
/// # use redrive_sqs as redrive;
/// use redrive::Attribute;
///
/// let tenant = Attribute::text("String", "acme");
/// assert_eq!(tenant.as_str(), Some("acme"));
/// assert_eq!(tenant.data_type(), "String");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    data_type: String,
    value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    Binary(Vec<u8>),
}

/// An attribute of the type `String`.
impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::text("String", text)
    }
}

/// An attribute of the type `String`.
impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::text("String", text)
    }
}

impl Attribute {
    /// Creates a `String` or `Number` attribute, or one of a custom type such as `Number.int`.
    pub fn text(data_type: impl Into<String>, value: impl Into<String>) -> Self {
        Self { data_type: data_type.into(), value: Value::Text(value.into()) }
    }

    /// Creates a `Binary` attribute, or one of a custom type such as `Binary.png`.
    pub fn binary(data_type: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        Self { data_type: data_type.into(), value: Value::Binary(value.into()) }
    }

    /// Returns the data type as the sender wrote it.
    #[must_use]
    pub fn data_type(&self) -> &str {
        &self.data_type
    }

    /// Returns the value of a `String` or `Number` attribute.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Binary(_) => None,
        }
    }

    /// Returns the value of an attribute of any type.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.value {
            Value::Text(text) => text.as_bytes(),
            Value::Binary(bytes) => bytes,
        }
    }

    /// Returns the bytes of data type and value. SQS counts them and the attribute's name toward the message size.
    #[must_use]
    pub fn size(&self) -> usize {
        self.data_type.len() + self.as_bytes().len()
    }
}
