//! The schedule for programs. Pure.

use std::time::{Duration, SystemTime};

use redrive::LastDelivery;
use serde_json::{Value, json};

use super::course::{Course, End, Rule};
use super::plan::{Plan, Row};
use super::text::clock;

/// Everything, in seconds from the sending, and as times if that is known.
pub(super) fn json(plan: &Plan, sent: Option<SystemTime>) -> Value {
    let terms = &plan.terms;
    json!({
        "queue": plan.name,
        "rule": match terms.rule {
            Rule::Redrive(_) => "redrive",
            Rule::VisibilityTimeout { .. } => "visibility-timeout",
        },
        "fifo": terms.is_fifo,
        "max_receive_count": terms.max_receive_count,
        "retention": seconds(terms.retention),
        "dead_letter_retention": terms.dead_letter_retention.map(seconds),
        "attempt_duration": seconds(terms.attempt_duration),
        "attempts": plan.rows().iter().map(|row| attempt(row, sent)).collect::<Vec<_>>(),
        "end": end(&plan.usual, sent),
        "earliest_end": end(&plan.shortest, sent),
        "latest_end": end(&plan.longest, sent),
    })
}

fn attempt(row: &Row, sent: Option<SystemTime>) -> Value {
    let (earliest, latest) = row.begins;
    let mut attempt = json!({
        "attempt": row.number,
        "after": seconds(row.attempt.at),
        "earliest": seconds(earliest),
        "latest": latest.map(seconds),
        "delay": row.attempt.delay.map(seconds),
        "shortest_delay": row.delays.map(|(least, _)| seconds(least)),
        "longest_delay": row.delays.map(|(_, most)| seconds(most)),
    });
    if let Some(sent) = sent {
        attempt["at"] = clock(sent, row.attempt.at).into();
    }
    attempt
}

fn end(course: &Course, sent: Option<SystemTime>) -> Value {
    let mut end = match course.end {
        End::Expired { at } => json!({"kind": "expired", "after": seconds(at)}),
        End::DeadLetter { at, by, letter_expires } => json!({
            "kind": "dead-letter",
            "after": seconds(at),
            "by": if by == LastDelivery::RedrivePolicy { "redrive-policy" } else { "function" },
            "letter_expires_after": letter_expires.map(seconds),
        }),
    };
    end["deliveries"] = course.count.into();
    if let Some(sent) = sent {
        end["at"] = clock(sent, course.end.at()).into();
        if let End::DeadLetter { letter_expires: Some(expires), .. } = course.end {
            end["letter_expires_at"] = clock(sent, expires).into();
        }
    }
    end
}

/// Whole seconds as whole numbers.
fn seconds(time: Duration) -> Value {
    match time.subsec_nanos() {
        0 => time.as_secs().into(),
        _ => time.as_secs_f64().into(),
    }
}
