//! Prepares a message for a program. Pure.

use std::ffi::OsStr;
use std::time::SystemTime;

use humantime::format_rfc3339_millis;
use redrive::{Attribute, Record};
use serde::Deserialize;

/// A message for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub(super) body: String,
    pub(super) attempt: u32,
    /// Variables of the program, besides those of the command.
    pub(super) environment: Vec<(String, String)>,
    /// True if the body is too long for a variable, so the program has to read it from its standard input.
    pub(super) is_long: bool,
    /// Name of another variable that the environment cannot hold, if any.
    pub(super) left_out: Option<String>,
}

/// Longest variable in bytes. Linux allows 128 KiB for one, and a few megabytes for all.
const LONGEST: usize = 64 * 1_024;

/// A notification that SNS has sent to the queue.
#[derive(Deserialize)]
struct Notification {
    #[serde(rename = "Type")]
    kind: String,
    #[serde(rename = "Message")]
    message: String,
    #[serde(rename = "Subject")]
    subject: Option<String>,
}

impl Task {
    pub(super) fn of(record: &Record<'_>) -> Self {
        let body = record.body();
        let notification = serde_json::from_str::<Notification>(body).ok();
        let (message, subject) = match notification {
            Some(Notification { kind, message, subject }) if kind == "Notification" => (message, subject),
            _ => (body.to_owned(), None),
        };
        let is_long = message.len() > LONGEST;
        let time = |time: Option<SystemTime>| time.map(|time| format_rfc3339_millis(time).to_string());
        let known = [
            Some(record.id().to_owned()),
            Some(record.attempt().to_string()),
            time(record.sent_at()),
            time(record.first_received_at()),
            record.group().map(str::to_owned),
            Some(message),
            subject,
        ];
        let known = NAMES.into_iter().zip(known).filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let attributes = record.attributes();
        let own = attributes.iter().filter_map(|(name, value)| Some((variable(name), text(value)?)));
        // The environment cannot hold other values, which only a notification can have.
        let fits = |(_, value): &(String, String)| value.len() <= LONGEST && !value.contains('\0');
        let (environment, rest): (Vec<_>, Vec<_>) = known.chain(own).partition(fits);
        let left_out = rest.into_iter().map(|(name, _)| name).find(|name| name != "Message");
        Self { body: body.to_owned(), attempt: record.attempt(), environment, is_long, left_out }
    }
}

/// Names of the variables besides the body.
const NAMES: [&str; 7] = [
    "MessageId",
    "ApproximateReceiveCount",
    "SentTimestamp",
    "ApproximateFirstReceiveTimestamp",
    "MessageGroupId",
    "Message",
    "Subject",
];
const ATTRIBUTE: &str = "MessageAttribute_";

/// Returns true if a variable with this name belongs to a message.
pub(super) fn is_of_a_message(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| NAMES.contains(&name) || name.starts_with(ATTRIBUTE))
}

fn text(value: &Attribute) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns the variable's name for an attribute, which must not be another variable's, because senders choose it.
fn variable(attribute: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("{ATTRIBUTE}{}", attribute.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(record: &Record<'_>) -> Vec<(String, String)> {
        Task::of(record).environment
    }

    fn value(record: &Record<'_>, name: &str) -> Option<String> {
        environment(record).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    #[test]
    fn the_message_of_a_notification_is_taken_out_of_it() {
        let body = r#"{"Type": "Notification", "Subject": "hello", "Message": "{\"id\": 1}"}"#;
        let record = Record::builder().body(body).attempt(3).build();
        assert_eq!(value(&record, "Message").as_deref(), Some(r#"{"id": 1}"#));
        assert_eq!(value(&record, "Subject").as_deref(), Some("hello"));
        assert_eq!(value(&record, "ApproximateReceiveCount").as_deref(), Some("3"));
        assert_eq!(Task::of(&record).body, body, "standard input gets all of it");
    }

    #[test]
    fn values_that_no_variable_can_hold_are_only_on_standard_input() {
        let long = "a".repeat(LONGEST + 1);
        for body in [long.as_str(), r#"{"Type": "Notification", "Message": "a\u0000b"}"#] {
            let record = Record::builder().body(body).build();
            assert_eq!((value(&record, "Message"), Task::of(&record).body.as_str()), (None, body));
        }
    }

    #[test]
    fn a_long_attribute_is_left_out_and_named() {
        let record = Record::builder().attribute("big", "a".repeat(LONGEST + 1)).attribute("b", "c").build();
        assert_eq!(Task::of(&record).left_out.as_deref(), Some("MessageAttribute_big"));
        assert_eq!(value(&record, "MessageAttribute_b").as_deref(), Some("c"));
        assert_eq!(Task::of(&Record::builder().body("a".repeat(LONGEST + 1)).build()).left_out, None);
    }

    #[test]
    fn no_attribute_takes_the_place_of_another_variable() {
        let record =
            Record::builder().body("tea").attribute("LD_PRELOAD", "x").attribute("a=b.c", "y").build();
        let names: Vec<_> = environment(&record).into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"MessageAttribute_LD_PRELOAD".to_owned()), "{names:?}");
        assert!(names.contains(&"MessageAttribute_a_b_c".to_owned()), "{names:?}");
    }
}
