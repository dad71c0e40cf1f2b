//! Parses a line of the function's log. Pure.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::super::letter::Logged;

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogEntry {
    pub(crate) at: SystemTime,
    /// Id of the message, if the line names one.
    pub(crate) message_id: Option<String>,
    pub(crate) attempt: Option<u64>,
    /// The outcome that redrive logged, or the text that the handler logged.
    pub(crate) what: String,
    /// The message's failure.
    pub(crate) logged: Logged,
    pub(crate) reason: Option<String>,
    pub(crate) back_in_seconds: Option<u64>,
    /// True if redrive wrote it at the end of an attempt.
    pub(crate) ends_attempt: bool,
}

impl LogEntry {
    /// Parses redrive's JSON lines, which have the message's id. Of other lines it keeps the whole text.
    pub(crate) fn parse(line: &str, at: SystemTime) -> Self {
        let json: Value = serde_json::from_str(line).unwrap_or(Value::Null);
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let spans: Vec<&Value> =
            json["spans"].as_array().map(|spans| spans.iter().collect()).unwrap_or_default();
        let of_span = |name: &str| spans.iter().rev().find_map(|span| span[name].as_str()).map(str::to_owned);
        let error = text("error").or_else(|| text("errorMessage")).unwrap_or_default();
        let what = text("message").or_else(|| text("msg")).unwrap_or_else(|| line.trim().to_owned());
        Self {
            at,
            message_id: text("message_id").or_else(|| of_span("message_id")),
            attempt: json["attempt"]
                .as_u64()
                .or_else(|| spans.iter().find_map(|span| span["attempt"].as_u64())),
            reason: text("reason"),
            back_in_seconds: json["back_in_seconds"].as_u64(),
            ends_attempt: json["message_id"].is_string()
                && json["error"].is_string()
                && json["attempt"].is_u64(),
            logged: Logged {
                exception: text("exception").or_else(|| text("errorType")).unwrap_or_default(),
                function: String::new(),
                request_id: text("request_id").or_else(|| of_span("request_id")).unwrap_or_default(),
                error,
            },
            what,
        }
    }

    /// Returns true if the line reports a failure.
    pub(crate) fn has_error(&self) -> bool {
        !self.logged.error.is_empty()
    }
}

/// Reads the request id and the duration from the line with which Lambda ends an invocation, as text or as JSON.
/// <https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-view.html>
pub(super) fn report(line: &str) -> Option<(String, Duration)> {
    if let Ok(json) = serde_json::from_str::<Value>(line) {
        let record = &json["record"];
        let duration = record["metrics"]["durationMs"].as_f64()?;
        return Some((record["requestId"].as_str()?.to_owned(), milliseconds(duration)?));
    }
    let rest = line.strip_prefix("REPORT RequestId: ")?;
    let (id, rest) = rest.split_once(char::is_whitespace)?;
    let duration = rest.split_once("Duration: ")?.1.split_once(" ms")?.0.parse().ok()?;
    Some((id.to_owned(), milliseconds(duration)?))
}

fn milliseconds(duration: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(duration / 1_000.0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_redrive_names_message_attempt_error_and_request() {
        let line = r#"{"timestamp":"2026-11-21T07:50:00Z","level":"WARN","message":"message failed, to be retried",
            "message_id":"a1","attempt":2,"error":"the gateway is down","exception":"orders::Down","reason":"error",
            "back_in_seconds":4,"confirmed":true,"target":"redrive::log","spans":[{"name":"batch","request_id":"r9","records":1}]}"#;
        let entry = LogEntry::parse(line, SystemTime::UNIX_EPOCH);
        assert_eq!((entry.message_id.as_deref(), entry.attempt), (Some("a1"), Some(2)));
        assert_eq!(
            (entry.logged.error.as_str(), entry.logged.request_id.as_str()),
            ("the gateway is down", "r9")
        );
        assert_eq!((entry.logged.exception.as_str(), entry.back_in_seconds), ("orders::Down", Some(4)));
        assert!(entry.ends_attempt && entry.has_error());
    }

    #[test]
    fn a_line_of_a_handler_takes_its_message_from_the_span() {
        let line = r#"{"level":"INFO","message":"charged","cents":450,
            "spans":[{"name":"batch","request_id":"r9"},{"name":"message","message_id":"a1","attempt":1}]}"#;
        let entry = LogEntry::parse(line, SystemTime::UNIX_EPOCH);
        assert_eq!(
            (entry.message_id.as_deref(), entry.attempt, entry.what.as_str()),
            (Some("a1"), Some(1), "charged")
        );
        assert!(!entry.ends_attempt && !entry.has_error());
    }

    #[test]
    fn any_other_line_is_what_it_says() {
        let entry = LogEntry::parse("could not charge a1: timeout\n", SystemTime::UNIX_EPOCH);
        assert_eq!((entry.message_id, entry.what.as_str()), (None, "could not charge a1: timeout"));
        for odd in ["null", "[1]", "\"text\"", "{}", ""] {
            assert!(!LogEntry::parse(odd, SystemTime::UNIX_EPOCH).ends_attempt);
        }
    }

    #[test]
    fn the_duration_of_an_invocation_is_in_its_report() {
        let text = "REPORT RequestId: r1\tDuration: 12.50 ms\tBilled Duration: 13 ms\tMemory Size: 128 MB";
        assert_eq!(report(text), Some(("r1".to_owned(), Duration::from_micros(12_500))));
        let json = r#"{"type":"platform.report","record":{"requestId":"r1","metrics":{"durationMs":12.5}}}"#;
        assert_eq!(report(json), Some(("r1".to_owned(), Duration::from_micros(12_500))));
        for odd in ["REPORT RequestId: r1", "{}", "REPORT RequestId: r1\tDuration: -1 ms", ""] {
            assert_eq!(report(odd), None);
        }
    }
}
