//! Reads the results of messages from `redrive local --json`.

use serde_json::Value;

/// The ids of the messages that were sent, in the order of sending.
pub(crate) fn sent(events: &[Value]) -> Vec<&str> {
    let to_a_source = |event: &&Value| {
        event["kind"] == "sent" && event["queue"].as_str().is_some_and(|queue| !queue.contains("-dead"))
    };
    events.iter().filter(to_a_source).filter_map(|event| event["message_id"].as_str()).collect()
}

/// How each message ended and on which attempt, in the order of sending; empty for one that did not.
pub(crate) fn ends(events: &[Value]) -> Vec<String> {
    let ids = sent(events);
    let mut ends = vec![String::new(); ids.len()];
    for event in events {
        let Some(place) = ids.iter().position(|id| event["message_id"] == *id) else { continue };
        let end = match event["kind"].as_str() {
            Some("done") => "done",
            Some("dead_lettered") => event["reason"].as_str().unwrap_or_default(),
            _ => continue,
        };
        assert_eq!(ends[place], "", "a message ends once");
        ends[place] = format!("{end} {}", event["attempt"]);
    }
    ends
}
