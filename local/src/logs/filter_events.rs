//! `FilterLogEvents`.
//! <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html>

use serde_json::{Value, json};

use super::pattern::Pattern;
use super::refusal::Refusal;
use super::request::Asked;

const LARGEST_PAGE: usize = 10_000;

/// A page also ends before its messages are larger.
const LARGEST_ANSWER: usize = 1 << 20;

pub(super) fn filter(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let (_, group) = asked.group()?;
    let pattern = Pattern::parse(asked.text("filterPattern")?.unwrap_or_default());
    let pattern = pattern.map_err(Refusal::invalid)?;
    let begin = asked.number("startTime")?.unwrap_or(0);
    let end = asked.number("endTime")?.unwrap_or(i64::MAX);
    let (streams, prefix) = (asked.texts("logStreamNames"), asked.text("logStreamNamePrefix")?);
    if streams.is_some() && prefix.is_some() {
        return Err(Refusal::invalid(
            "Both logStreamNames and logStreamNamePrefix were specified, allowed: one of them",
        ));
    }
    let limit = asked.limit(LARGEST_PAGE)?;
    let first = asked.next_token()?;
    if first > group.end() {
        return Err(Refusal::invalid("The specified nextToken is invalid."));
    }

    let (mut events, mut bytes, mut next) = (Vec::new(), 0, None);
    for (number, event) in group.from(first) {
        let of_stream = streams.as_ref().is_none_or(|names| names.contains(&&*event.stream))
            && prefix.is_none_or(|prefix| event.stream.starts_with(prefix));
        if !of_stream || !(begin..=end).contains(&event.at) || !pattern.matches(&event.message) {
            continue;
        }
        if events.len() == limit || (bytes + event.message.len() > LARGEST_ANSWER && !events.is_empty()) {
            next = Some(number);
            break;
        }
        bytes += event.message.len();
        events.push(json!({
            "logStreamName": &*event.stream,
            "timestamp": event.at,
            "message": event.message,
            "ingestionTime": event.at,
            // Digits, and later ones are greater, as on AWS.
            "eventId": format!("{:032}{number:024}", event.at),
        }));
    }
    let mut output = json!({ "events": events, "searchedLogStreams": [] });
    if let Some(next) = next {
        output["nextToken"] = json!(next.to_string());
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::World;

    #[test]
    fn events_are_found_by_words_time_and_stream() {
        let world = World::new();
        for (input, wanted) in [
            (json!({}), &["one tea", "two milk", "three tea"][..]),
            (json!({ "filterPattern": "tea" }), &["one tea", "three tea"]),
            (json!({ "filterPattern": "tea -one" }), &["three tea"]),
            (json!({ "startTime": 2_000 }), &["two milk", "three tea"]),
            (json!({ "startTime": 2_000, "endTime": 2_000 }), &["two milk"]),
            (json!({ "logStreamNames": ["a"] }), &["one tea", "three tea"]),
            (json!({ "logStreamNamePrefix": "b" }), &["two milk"]),
        ] {
            assert_eq!(world.messages(input.clone()), wanted, "{input}");
        }
        let event =
            &world.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "limit": 1 }))["events"][0];
        assert_eq!((&event["timestamp"], &event["message"]), (&json!(1_000), &json!("one tea\n")));
        assert_eq!(event["eventId"].as_str().unwrap().len(), 56);
    }

    #[test]
    fn a_group_is_known_by_its_arn_too() {
        let world = World::new();
        let arn = "arn:aws:logs:eu-west-1:123456789012:log-group:/shop:*";
        let found = world.ask("FilterLogEvents", json!({ "logGroupIdentifier": arn }));
        assert_eq!(found["events"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_page_ends_where_the_next_begins() {
        let mut world = World::new();
        let first = world.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "limit": 2 }));
        let token = first["nextToken"].clone();
        world.write("a", "four", 4_000);
        let more = world.messages(json!({ "limit": 2, "nextToken": token }));
        assert_eq!(more, ["three tea", "four"]);
        let all = world.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "limit": 4 }));
        assert_eq!(all.get("nextToken"), None);
    }

    #[test]
    fn a_page_ends_before_a_mebibyte_and_holds_at_least_one_event() {
        let mut world = World::new();
        for _ in 0..3 {
            world.write("large", &"x".repeat(700_000), 9_000);
        }
        let page = world.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "startTime": 9_000 }));
        assert_eq!((page["events"].as_array().unwrap().len(), &page["nextToken"]), (1, &json!("4")));
    }

    #[test]
    fn what_is_refused_is_refused_in_the_words_of_aws() {
        let world = World::new();
        let invalid = "InvalidParameterException";
        for (input, shape, message) in [
            (
                json!({ "logGroupName": "/none" }),
                "ResourceNotFoundException",
                "The specified log group does not exist.",
            ),
            (
                json!({ "logGroupName": "/shop", "nextToken": "x" }),
                invalid,
                "The specified nextToken is invalid.",
            ),
            (
                json!({ "logGroupName": "/shop", "limit": 10_001 }),
                invalid,
                "1 validation error detected: Value '10001' at 'limit' failed to satisfy constraint: Member must have \
                 value less than or equal to 10000",
            ),
            (
                json!({ "logGroupName": "/shop", "filterPattern": "a-b" }),
                invalid,
                "Invalid character(s) in term '-'",
            ),
        ] {
            assert_eq!(world.refused("FilterLogEvents", input), (shape.to_owned(), message.to_owned()));
        }
        let (shape, message) = world.refused("PutLogEvents", json!({}));
        assert_eq!(shape, "UnknownOperationException");
        assert_eq!(message, "redrive-local has no operation PutLogEvents of CloudWatch Logs");
    }
}
