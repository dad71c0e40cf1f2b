//! `DescribeLogGroups` and `DescribeLogStreams`.
//! <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeLogStreams.html>

use serde_json::{Value, json};

use super::api::{Context, INVALID_PARAMETER, Input, bad_token};
use crate::protocol::{Answer, Page, page};

const LARGEST_PAGE: u32 = 50;

pub(super) fn groups(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let (prefix, part) = (&input.log_group_name_prefix, &input.log_group_name_pattern);
    let wanted = context.service.groups.iter().filter(|(name, _)| {
        prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix))
            && part.as_ref().is_none_or(|part| name.contains(part))
    });
    let described: Vec<Value> = wanted
        .map(|(name, group)| {
            let arn = context.service.arn(name);
            json!({
                "logGroupName": name,
                "creationTime": group.created,
                "metricFilterCount": 0,
                "arn": format!("{arn}:*"),
                "logGroupArn": arn,
                "logGroupClass": "STANDARD",
                "storedBytes": group.bytes(),
            })
        })
        .collect();
    give(context, &input, "logGroups", described)
}

pub(super) fn streams(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let (name, group) = input.group(context.service)?;
    let prefix = input.log_stream_name_prefix.as_deref();
    let by_time = input.order_by.as_deref() == Some("LastEventTime");
    if by_time && prefix.is_some() {
        return Err(INVALID_PARAMETER.error("Cannot order by LastEventTime with a logStreamNamePrefix."));
    }
    let mut streams: Vec<_> = group
        .streams
        .iter()
        .filter(|each| prefix.is_none_or(|prefix| each.name.starts_with(prefix)))
        .collect();
    if by_time {
        streams.sort_by_key(|stream| stream.last);
    } else {
        streams.sort_by(|one, other| one.name.cmp(&other.name));
    }
    if input.descending.unwrap_or_default() {
        streams.reverse();
    }
    let arn = context.service.arn(name);
    let described: Vec<Value> = streams
        .into_iter()
        .map(|stream| {
            json!({
                "logStreamName": &*stream.name,
                "creationTime": stream.first,
                "firstEventTimestamp": stream.first,
                "lastEventTimestamp": stream.last,
                "lastIngestionTime": stream.last,
                "arn": format!("{arn}:log-stream:{}", stream.name),
                "storedBytes": 0,
            })
        })
        .collect();
    give(context, &input, "logStreams", described)
}

fn give(context: &Context<'_>, input: &Input, name: &str, items: Vec<Value>) -> Answer {
    let limit = input.limit(LARGEST_PAGE)?;
    let Page { items, next_token } = page(items, input.next_token.as_deref(), limit, bad_token)?;
    let mut output = json!({ name: items });
    if let Some(token) = next_token {
        output["nextToken"] = json!(token);
    }
    context.output(&output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::client;

    #[test]
    fn groups_are_found_by_their_names() {
        let mut client = client();
        let found = client.ask("DescribeLogGroups", json!({ "logGroupNamePrefix": "/s" }));
        assert_eq!(found["logGroups"][0]["logGroupName"], "/shop");
        assert_eq!(found["logGroups"][0]["arn"], "arn:aws:logs:eu-west-1:123456789012:log-group:/shop:*");
        let none = client.ask("DescribeLogGroups", json!({ "logGroupNamePattern": "none" }));
        assert_eq!(none["logGroups"], json!([]));
    }

    #[test]
    fn streams_are_ordered_by_name_or_by_their_last_event() {
        let mut client = client();
        let mut names = |input: serde_json::Value| {
            let mut all = json!({ "logGroupName": "/shop" });
            all.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            let found = client.ask("DescribeLogStreams", all)["logStreams"].clone();
            let names = found.as_array().unwrap().iter().map(|each| each["logStreamName"].clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(json!({})), ["a", "b"]);
        assert_eq!(names(json!({ "orderBy": "LastEventTime" })), ["b", "a"]);
        assert_eq!(names(json!({ "descending": true, "limit": 1 })), ["b"]);
        assert_eq!(names(json!({ "logStreamNamePrefix": "b" })), ["b"]);
    }
}
