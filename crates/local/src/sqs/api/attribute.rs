//! Message attributes in the form of both protocols.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};

use crate::protocol::AwsError;
use crate::queue::{AttributeValue, MessageAttribute, error};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct WireAttribute {
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
    data_type: String,
}

impl WireAttribute {
    pub(super) fn write(attribute: &MessageAttribute) -> Self {
        let data_type = attribute.data_type.clone();
        match &attribute.value {
            AttributeValue::Text(text) => {
                Self { string_value: Some(text.clone()), binary_value: None, data_type }
            }
            AttributeValue::Binary(bytes) => {
                Self { string_value: None, binary_value: Some(BASE64_STANDARD.encode(bytes)), data_type }
            }
        }
    }

    fn read(self, name: &str) -> Result<MessageAttribute, AwsError> {
        let refused = |what: &str| {
            let message = format!("The message attribute '{name}' {what}.");
            error::INVALID_PARAMETER_VALUE.error(message)
        };
        let value = match (self.string_value, self.binary_value) {
            (Some(text), None) => AttributeValue::Text(text),
            (None, Some(text)) => {
                let bytes = BASE64_STANDARD.decode(text);
                AttributeValue::Binary(bytes.map_err(|_| refused("has a binary value that is not base64"))?)
            }
            (Some(_), Some(_)) => return Err(refused("must not have two values")),
            (None, None) => return Err(refused("must contain a message attribute value")),
        };
        Ok(MessageAttribute { data_type: self.data_type, value })
    }
}

pub(super) fn read_attributes(
    attributes: BTreeMap<String, WireAttribute>,
) -> Result<BTreeMap<String, MessageAttribute>, AwsError> {
    let read = attributes.into_iter().map(|(name, attribute)| {
        let attribute = attribute.read(&name)?;
        Ok((name, attribute))
    });
    read.collect()
}
