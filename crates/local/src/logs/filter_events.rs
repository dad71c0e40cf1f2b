//! `FilterLogEvents`.
//! <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html>

use serde_json::json;

use super::api::{Context, INVALID_PARAMETER, Input, bad_token};
use super::pattern::Pattern;
use crate::protocol::{Answer, offset};

const LARGEST_PAGE: u32 = 10_000;

/// Most bytes of messages on a page.
const LARGEST_ANSWER: usize = 1 << 20;

pub(super) fn filter(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let (_, group) = input.group(context.service)?;
    let pattern = Pattern::parse(input.filter_pattern.as_deref().unwrap_or_default());
    let pattern = pattern.map_err(|reason| INVALID_PARAMETER.error(reason))?;
    let begin = input.start_time.unwrap_or(0);
    let end = input.end_time.unwrap_or(i64::MAX);
    let (streams, prefix) = (&input.log_stream_names, input.log_stream_name_prefix.as_deref());
    if streams.is_some() && prefix.is_some() {
        return Err(
            INVALID_PARAMETER.error("logStreamNames and logStreamNamePrefix cannot both be specified")
        );
    }
    let limit = input.limit(LARGEST_PAGE)?;
    let first = offset(input.next_token.as_deref(), bad_token)? as u64;
    if first > group.end() {
        return Err(bad_token(""));
    }

    let (mut events, mut bytes, mut next) = (Vec::new(), 0, None);
    for (number, event) in group.from(first) {
        let of_stream = streams.as_ref().is_none_or(|names| names.iter().any(|name| **name == *event.stream))
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
            // Ids consist of digits, and later ids are greater, as on AWS.
            "eventId": format!("{:032}{number:024}", event.at),
        }));
    }
    let mut output = json!({ "events": events, "searchedLogStreams": [] });
    if let Some(next) = next {
        output["nextToken"] = json!(next.to_string());
    }
    context.output(&output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::client;

    #[test]
    fn events_are_found_by_words_time_and_stream() {
        let mut client = client();
        for (input, wanted) in [
            (json!({}), &["one tea", "two milk", "three tea"][..]),
            (json!({ "filterPattern": "tea" }), &["one tea", "three tea"]),
            (json!({ "filterPattern": "tea -one" }), &["three tea"]),
            (json!({ "startTime": 2_000 }), &["two milk", "three tea"]),
            (json!({ "startTime": 2_000, "endTime": 2_000 }), &["two milk"]),
            (json!({ "logStreamNames": ["a"] }), &["one tea", "three tea"]),
            (json!({ "logStreamNamePrefix": "b" }), &["two milk"]),
        ] {
            assert_eq!(client.messages(input.clone()), wanted, "{input}");
        }
        let event =
            &client.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "limit": 1 }))["events"][0];
        assert_eq!((&event["timestamp"], &event["message"]), (&json!(1_000), &json!("one tea\n")));
        assert_eq!(event["eventId"].as_str().unwrap().len(), 56);
    }

    #[test]
    fn a_group_is_known_by_its_arn_too() {
        let mut client = client();
        let arn = "arn:aws:logs:eu-west-1:123456789012:log-group:/shop:*";
        let found = client.ask("FilterLogEvents", json!({ "logGroupIdentifier": arn }));
        assert_eq!(found["events"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_page_ends_where_the_next_begins() {
        let mut client = client();
        let first = client.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "limit": 2 }));
        let token = first["nextToken"].clone();
        client.write("a", "four", 4_000);
        let more = client.messages(json!({ "limit": 2, "nextToken": token }));
        assert_eq!(more, ["three tea", "four"]);
        let all = client.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "limit": 4 }));
        assert_eq!(all.get("nextToken"), None);
    }

    #[test]
    fn a_page_ends_before_a_mebibyte_and_holds_at_least_one_event() {
        let mut client = client();
        for _ in 0..3 {
            client.write("large", &"x".repeat(700_000), 9_000);
        }
        let page = client.ask("FilterLogEvents", json!({ "logGroupName": "/shop", "startTime": 9_000 }));
        assert_eq!((page["events"].as_array().unwrap().len(), &page["nextToken"]), (1, &json!("4")));
    }

    #[test]
    fn a_refusal_has_the_words_of_aws() {
        let mut client = client();
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
            let refused = client.refused("FilterLogEvents", input);
            assert_eq!(
                (refused.status, refused.shape.as_str(), refused.message.as_str()),
                (400, shape, message)
            );
        }
        let refused = client.refused("PutLogEvents", json!({}));
        assert_eq!(refused.shape, "UnknownOperationException");
        assert_eq!(
            refused.message,
            "redrive-local does not support the operation PutLogEvents of CloudWatch Logs"
        );
    }
}
