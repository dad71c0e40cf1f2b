//! `DescribeLogGroups` and `DescribeLogStreams`.
//! <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeLogStreams.html>

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::request::Asked;

const LARGEST_PAGE: usize = 50;

pub(super) fn groups(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let (prefix, part) = (asked.text("logGroupNamePrefix")?, asked.text("logGroupNamePattern")?);
    let wanted = asked.logs.groups.iter().filter(|(name, _)| {
        prefix.is_none_or(|prefix| name.starts_with(prefix)) && part.is_none_or(|part| name.contains(part))
    });
    let described: Vec<Value> = wanted
        .map(|(name, group)| {
            let arn = asked.logs.arn(name);
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
    page(asked, "logGroups", &described)
}

pub(super) fn streams(asked: &Asked<'_>) -> Result<Value, Refusal> {
    let (name, group) = asked.group()?;
    let prefix = asked.text("logStreamNamePrefix")?;
    let by_time = asked.text("orderBy")? == Some("LastEventTime");
    if by_time && prefix.is_some() {
        return Err(Refusal::invalid("Cannot order by LastEventTime with a logStreamNamePrefix."));
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
    if asked.flag("descending") {
        streams.reverse();
    }
    let arn = asked.logs.arn(name);
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
    page(asked, "logStreams", &described)
}

fn page(asked: &Asked<'_>, name: &str, items: &[Value]) -> Result<Value, Refusal> {
    let limit = asked.limit(LARGEST_PAGE)?;
    let begin = asked.next_token()? as usize;
    if begin > items.len() {
        return Err(Refusal::invalid("The specified nextToken is invalid."));
    }
    let end = begin.saturating_add(limit).min(items.len());
    let mut output = json!({ name: items[begin..end] });
    if end < items.len() {
        output["nextToken"] = json!(end.to_string());
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::World;

    #[test]
    fn groups_are_found_by_their_names() {
        let world = World::new();
        let found = world.ask("DescribeLogGroups", json!({ "logGroupNamePrefix": "/s" }));
        assert_eq!(found["logGroups"][0]["logGroupName"], "/shop");
        assert_eq!(found["logGroups"][0]["arn"], "arn:aws:logs:eu-west-1:123456789012:log-group:/shop:*");
        let none = world.ask("DescribeLogGroups", json!({ "logGroupNamePattern": "none" }));
        assert_eq!(none["logGroups"], json!([]));
    }

    #[test]
    fn streams_are_ordered_by_name_or_by_their_last_event() {
        let world = World::new();
        let names = |input: serde_json::Value| {
            let mut all = json!({ "logGroupName": "/shop" });
            all.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            let found = world.ask("DescribeLogStreams", all)["logStreams"].clone();
            let names = found.as_array().unwrap().iter().map(|each| each["logStreamName"].clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(json!({})), ["a", "b"]);
        assert_eq!(names(json!({ "orderBy": "LastEventTime" })), ["b", "a"]);
        assert_eq!(names(json!({ "descending": true, "limit": 1 })), ["b"]);
        assert_eq!(names(json!({ "logStreamNamePrefix": "b" })), ["b"]);
    }
}
