//! Formats the schedule for programs. Pure.

use std::time::Duration;

use redrive::LastDelivery;
use serde_json::{Value, json};

use super::course::{Course, End, Row, Schedule};
use super::known::Consumer;

/// Returns the schedule, with times in seconds since the sending.
pub(super) fn json(schedule: &Schedule) -> Value {
    let known = &schedule.known;
    json!({
        "queue": known.name,
        "rule": match known.consumer {
            Consumer::Redrive => "redrive",
            Consumer::Other(_) => "visibility-timeout",
        },
        "fifo": schedule.is_fifo,
        "max_receive_count": known.max_receive_count,
        "retention": seconds(known.retention),
        "dead_letter_retention": known.dead_letter_retention.map(seconds),
        "attempt_duration": seconds(schedule.attempt_duration),
        "attempts": schedule.rows().iter().map(attempt).collect::<Vec<_>>(),
        "end": end(&schedule.usual),
        "earliest_end": end(&schedule.shortest),
        "latest_end": end(&schedule.longest),
    })
}

fn attempt(row: &Row) -> Value {
    json!({
        "attempt": row.number,
        "after": seconds(row.usual.at),
        "earliest": seconds(row.earliest),
        "latest": row.latest.map(seconds),
        "delay": row.usual.delay.map(seconds),
        "shortest_delay": row.delays.map(|(shortest, _)| seconds(shortest)),
        "longest_delay": row.delays.map(|(_, longest)| seconds(longest)),
    })
}

fn end(course: &Course) -> Value {
    match course.end {
        End::Expired { at } => {
            json!({"kind": "expired", "after": seconds(at), "deliveries": course.count})
        }
        End::DeadLetter { at, by, letter_expires } => json!({
            "kind": "dead-letter",
            "after": seconds(at),
            "by": if by == LastDelivery::RedrivePolicy { "redrive-policy" } else { "function" },
            "letter_expires_after": letter_expires.map(seconds),
            "deliveries": course.count,
        }),
    }
}

/// Returns seconds, as an integer if possible.
fn seconds(time: Duration) -> Value {
    match time.subsec_nanos() {
        0 => time.as_secs().into(),
        _ => time.as_secs_f64().into(),
    }
}
