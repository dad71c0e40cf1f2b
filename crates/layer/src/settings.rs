//! The variables of the layer itself. redrive reads those of a consumer. Pure.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use redrive_sqs::Quoted;
use serde::Deserialize;
use serde_json::Value;

use crate::classify::ClassifyRules;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Most messages in an event.
    pub(crate) batch: NonZeroUsize,
    pub(crate) rules: ClassifyRules,
}

/// Most messages in a batch of Lambda.
const LARGEST_BATCH: usize = 10_000;

impl Settings {
    /// # Errors
    /// A variable is invalid. The error names it, its value and what is allowed.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let of_function = ["REDRIVE_CONCURRENCY", "AWS_LAMBDA_MAX_CONCURRENCY"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), variable(name)?)));
        let of_queues = of_queues(&variable("REDRIVE_QUEUES").unwrap_or_default());
        if let Some((name, value)) = of_function.chain(of_queues).find(|(_, value)| value != "1") {
            return Err(format!(
                "{name} is {}, allowed: 1, since the layer hands the function one event at a time",
                Quoted(&value)
            ));
        }
        let batch = match variable("REDRIVE_BATCH") {
            None => NonZeroUsize::MIN,
            Some(value) => {
                let parsed = value.parse().ok().filter(|batch: &NonZeroUsize| batch.get() <= LARGEST_BATCH);
                parsed.ok_or_else(|| {
                    format!("REDRIVE_BATCH is {}, allowed: 1 to {LARGEST_BATCH}", Quoted(&value))
                })?
            }
        };
        let rules = ClassifyRules::parse(&variable("REDRIVE_CLASSIFY").unwrap_or_default())?;
        Ok(Self { batch, rules })
    }
}

/// Returns the concurrency of each queue that sets one. redrive itself refuses an invalid list.
fn of_queues(queues: &str) -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct Queue {
        concurrency: Option<Value>,
    }
    let queues: BTreeMap<String, Queue> = serde_json::from_str(queues).unwrap_or_default();
    let of_queue = |(arn, Queue { concurrency })| match concurrency? {
        Value::String(value) if value.is_empty() => None,
        Value::String(value) => Some((format!("concurrency of {arn} in REDRIVE_QUEUES"), value)),
        value => Some((format!("concurrency of {arn} in REDRIVE_QUEUES"), value.to_string())),
    };
    queues.into_iter().filter_map(of_queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Settings, String> {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn a_function_gets_one_message_at_a_time_unless_a_variable_says_otherwise() {
        for (value, batch) in [("", 1), ("1", 1), ("25", 25), ("10000", 10_000)] {
            assert_eq!(read("REDRIVE_BATCH", value).unwrap().batch.get(), batch);
        }
    }

    #[test]
    fn an_invalid_variable_is_named() {
        for (name, value, error) in [
            ("REDRIVE_BATCH", "0", "REDRIVE_BATCH is \"0\", allowed: 1 to 10000"),
            ("REDRIVE_BATCH", "10001", "REDRIVE_BATCH is \"10001\", allowed: 1 to 10000"),
            (
                "REDRIVE_CONCURRENCY",
                "5",
                "REDRIVE_CONCURRENCY is \"5\", allowed: 1, since the layer hands the function one event at a time",
            ),
        ] {
            assert_eq!(read(name, value), Err(error.to_owned()));
        }
        assert!(read("AWS_LAMBDA_MAX_CONCURRENCY", "8").is_err());
        let of_queue = |value: &str| {
            read("REDRIVE_QUEUES", &format!(r#"{{"arn:a": {{"concurrency": {value}}}, "arn:b": {{}}}}"#))
        };
        for value in ["5", "\"5\"", "0"] {
            let name = "concurrency of arn:a in REDRIVE_QUEUES";
            let expected = format!("{name} is \"{}\", allowed: 1, since", value.trim_matches('"'));
            assert!(of_queue(value).is_err_and(|error| error.starts_with(&expected)), "{value}");
        }
        for value in ["1", "\"1\"", "\"\"", "null"] {
            assert!(of_queue(value).is_ok(), "{value}");
        }
        assert!(read("REDRIVE_CLASSIFY", "ValueError").is_err());
    }
}
