//! Reads a function's response to the messages of its event. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

/// Returns the ids that a response reports as failed. A function without partial batch responses reports none, whatever else it
/// returns. <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
///
/// # Errors
/// The response cannot be understood, so no message is known to be done.
pub(crate) fn failed_messages(response: &[u8], known: &BTreeSet<&str>) -> Result<BTreeSet<String>, String> {
    #[derive(Deserialize)]
    struct Response {
        #[serde(rename = "batchItemFailures", default)]
        failures: Value,
    }
    if response.trim_ascii().is_empty() {
        return Ok(BTreeSet::new());
    }
    if response.trim_ascii_start().first() != Some(&b'{') {
        return match serde_json::from_slice(response).map_err(|error| not_json(&error))? {
            Value::String(text) if text.contains("batchItemFailures") => {
                Err("batchItemFailures is in a string: return an object that is not serialized".to_owned())
            }
            _ => Ok(BTreeSet::new()),
        };
    }
    let response: Response = serde_json::from_slice(response).map_err(|error| not_json(&error))?;
    let failures = match response.failures {
        Value::Null => return Ok(BTreeSet::new()),
        Value::Array(failures) => failures,
        _ => return Err("batchItemFailures of the response is not a list".to_owned()),
    };
    let id = |failure: &Value| match failure.get("itemIdentifier").and_then(Value::as_str) {
        Some(id) if known.contains(id) => Ok(id.to_owned()),
        Some(_) => Err("an itemIdentifier of the response is not in the event".to_owned()),
        None => Err("an item of batchItemFailures has no itemIdentifier".to_owned()),
    };
    failures.iter().map(id).collect()
}

fn not_json(error: &serde_json::Error) -> String {
    format!("the response is not JSON: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the failed ones of the messages m1 and m2.
    fn failed(response: &str) -> Option<Vec<String>> {
        let known = BTreeSet::from(["m1", "m2"]);
        failed_messages(response.as_bytes(), &known).ok().map(|failed| failed.into_iter().collect())
    }

    #[test]
    fn a_response_without_failures_means_that_all_are_done() {
        for response in [
            "",
            "null",
            "\"ok\"",
            "42",
            "[1]",
            "{}",
            r#"{"statusCode": 200}"#,
            r#"{"batchItemFailures": null}"#,
            r#" {"batchItemFailures": []}"#,
        ] {
            assert_eq!(failed(response), Some(Vec::new()), "{response}");
        }
    }

    #[test]
    fn failures_are_those_of_the_list() {
        let item =
            |id: &str| format!(r#"{{"batchItemFailures": [{{"itemIdentifier": {id}}}], "more": [1]}}"#);
        assert_eq!(failed(&item("\"m2\"")), Some(vec!["m2".to_owned()]));
        for wrong in ["\"m3\"", "\"\"", "null", "7"] {
            assert_eq!(failed(&item(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn a_response_that_cannot_be_understood_fails_all() {
        for response in [
            "{",
            "ok",
            r#""{\"batchItemFailures\": []}""#,
            "{\"batchItemFailures\": \"m1\"}",
            "{\"batchItemFailures\": [\"m1\"]}",
            "\u{0}",
        ] {
            assert_eq!(failed(response), None, "{response}");
        }
    }
}
