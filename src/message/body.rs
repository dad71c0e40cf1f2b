//! Decodes a body: JSON of the user's own type, plain text, or bytes.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::BoxError;
use crate::message::FromMessage;
use crate::message::record::Record;

/// Every deserializable type is read from JSON.
impl<T: DeserializeOwned + Send + 'static> FromMessage for T {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        json(record.body(), std::any::type_name::<T>())
    }
}

/// Reads JSON. The error names the type and the place, and quotes nothing.
pub(crate) fn json<'body, T: Deserialize<'body>>(
    body: &'body str,
    type_name: &'static str,
) -> Result<T, BoxError> {
    Ok(serde_json::from_str(body).map_err(|error| NotJson::new(&error, type_name))?)
}

/// The body as text, for messages that are not JSON.
///
/// ```
/// use redrive::{Consumer, Failure, Text};
///
/// async fn handle(line: Text) -> Result<(), Failure> {
///     tracing::info!(line = line.0, "handled");
///     Ok(())
/// }
/// let consumer = Consumer::new(handle);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub String);

impl FromMessage for Text {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self(record.body().to_owned()))
    }
}

/// The body as bytes, for your own encodings; SQS carries binary bodies as base64.
///
/// ```
/// use redrive::{Consumer, Failure, Raw};
///
/// async fn handle(frame: Raw) -> Result<(), Failure> {
///     let bytes = frame.base64().map_err(Failure::reject)?;
///     tracing::info!(bytes = bytes.len(), "handled");
///     Ok(())
/// }
/// let consumer = Consumer::new(handle);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw(pub Vec<u8>);

impl Raw {
    /// Decodes the body from base64.
    ///
    /// # Errors
    /// The body is not base64 in the standard alphabet.
    pub fn base64(&self) -> Result<Vec<u8>, BoxError> {
        use base64::Engine as _;
        Ok(base64::engine::general_purpose::STANDARD.decode(&self.0)?)
    }
}

impl FromMessage for Raw {
    fn from_message(record: &Record<'_>) -> Result<Self, BoxError> {
        Ok(Self(record.body().as_bytes().to_vec()))
    }
}

/// The error for a body that is not JSON of the handler's type. It names the place, and never quotes the body.
#[derive(Debug, thiserror::Error)]
#[error("the body is not JSON of {type_name}: {what}{advice}")]
struct NotJson {
    what: String,
    type_name: &'static str,
    advice: &'static str,
}

impl NotJson {
    fn new(error: &serde_json::Error, type_name: &'static str) -> Self {
        let text = error.to_string();
        // serde quotes the offending value in "invalid type: string \"4111...\", expected u64".
        let what = match (text.split_once(": "), text.rsplit_once(", expected")) {
            (Some((kind @ ("invalid type" | "invalid value"), _)), Some((_, expected))) => {
                format!("{kind}, expected{expected}")
            }
            _ if error.is_data() && !text.starts_with("missing field") => {
                format!("not the expected data at line {} column {}", error.line(), error.column())
            }
            _ => text,
        };
        let is_string = type_name == std::any::type_name::<String>();
        let advice =
            if is_string { " (to take a plain text body, use redrive::Text or redrive::Raw)" } else { "" };
        Self { what, type_name, advice }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;
    use crate::unit_testing::Sample;

    fn error<T: FromMessage + fmt::Debug>(body: &'static str) -> String {
        T::from_message(&Sample { body, ..Sample::default() }.record(0)).unwrap_err().to_string()
    }

    #[derive(Deserialize, Debug)]
    #[allow(dead_code, reason = "what it holds is beside the point")]
    struct Payment {
        cents: u64,
        card: Card,
    }

    #[derive(Deserialize, Debug)]
    enum Card {
        Debit,
    }

    #[test]
    fn an_error_says_what_is_wrong_and_where_but_never_quotes_the_body() {
        for body in [
            r#"{"cents": "4111, expected nothing"}"#,
            r#"{"cents": 4111.5}"#,
            r#"{"cents": -4111}"#,
            r#"{"cents": 1, "card": "4111"}"#,
            r#"{"4111": 1}"#,
            r#"["4111"]"#,
            "4111",
            r#""4111""#,
            "4111x",
            "{4111",
        ] {
            let error = error::<Payment>(body);
            assert!(
                error.starts_with("the body is not JSON of redrive::message::body::tests::Payment: "),
                "{error}"
            );
            assert!(!error.contains("4111"), "{error}");
        }
        assert!(error::<Payment>("{}").contains("missing field `cents` at line 1 column 2"));
        assert!(
            error::<Payment>(r#"{"cents": "x"}"#).contains("invalid type, expected u64 at line 1 column 13")
        );
    }

    #[test]
    fn the_error_of_a_plain_text_body_names_text_and_raw() {
        assert!(
            error::<String>("hello")
                .ends_with("(to take a plain text body, use redrive::Text or redrive::Raw)")
        );
    }

    #[test]
    fn raw_decodes_base64_and_refuses_other_text() {
        assert_eq!(Raw(b"aGk=".to_vec()).base64().unwrap(), b"hi");
        assert!(Raw(b"a!".to_vec()).base64().is_err());
    }
}
