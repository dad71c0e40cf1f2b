//! Requests of the query protocol: a form in the body or in the URL, turned into what JSON would say.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Method, Request, header};
use serde_json::{Map, Value};

use super::{names, perform};

const VERSION: &str = "2012-11-05";

/// No parameter of SQS has more parts than `Entry.1.MessageAttribute.1.Value.StringValue`.
const MOST_PARTS: usize = 8;

/// The name of the operation, if the request is a form that is meant for SQS: by its version, or without one by an
/// action that SQS has.
pub(super) fn operation(request: &Request<Bytes>) -> Option<String> {
    let find = |name: &str| pairs(request).find(|(key, _)| key == name).map(|(_, value)| value);
    let action = find("Action")?;
    let is_meant = match find("Version") {
        Some(version) => version == VERSION,
        None => perform::operation(&action).is_some(),
    };
    is_meant.then(|| action.into_owned())
}

/// The parameters. A queue may be named by the path of the URL instead of by a parameter.
pub(super) fn read(request: &Request<Bytes>) -> Value {
    let mut root = Node::default();
    for (name, value) in pairs(request) {
        let leaf = name
            .splitn(MOST_PARTS, '.')
            .fold(&mut root, |node, part| node.parts.entry(part.to_owned()).or_default());
        leaf.text = value.into_owned();
    }
    let path = request.uri().path();
    if path.len() > 1 {
        root.parts.entry("QueueUrl".to_owned()).or_insert_with(|| Node::text(path));
    }
    Value::Object(structure(root.parts))
}

fn pairs(request: &Request<Bytes>) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let content_type = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let is_form = content_type.starts_with(b"application/x-www-form-urlencoded");
    let body = if is_form && request.method() == Method::POST { &request.body()[..] } else { &[] };
    let url = request.uri().query().unwrap_or_default();
    form_urlencoded::parse(body).chain(form_urlencoded::parse(url.as_bytes()))
}

/// A parameter, or what the parameters that begin with it share.
#[derive(Debug, Default)]
struct Node {
    text: String,
    parts: BTreeMap<String, Self>,
}

impl Node {
    fn text(text: &str) -> Self {
        Self { text: text.to_owned(), parts: BTreeMap::new() }
    }

    /// The numbered parts, in the order of their numbers.
    fn numbered(self) -> impl Iterator<Item = Self> {
        let parts = self.parts.into_iter();
        let parts = parts.filter_map(|(number, node)| Some((number.parse::<u32>().ok()?, node)));
        parts.collect::<BTreeMap<_, _>>().into_values()
    }

    fn value(self, name: &str) -> Value {
        match self.text.parse::<i64>() {
            _ if !self.parts.is_empty() => Value::Object(structure(self.parts)),
            Ok(number) if names::is_number(name) => Value::from(number),
            _ => Value::from(self.text),
        }
    }
}

fn structure(parts: BTreeMap<String, Node>) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, node) in parts {
        let is_numbered = !node.parts.is_empty();
        if let Some(list) = names::list_of(&name).filter(|_| is_numbered) {
            members.insert(list.to_owned(), node.numbered().map(|item| item.value(&name)).collect());
        } else if let Some((map, key)) = names::map_of(&name).filter(|_| is_numbered) {
            let entries = node.numbered().filter_map(|mut entry| {
                let value = entry.parts.remove("Value").unwrap_or_default();
                Some((entry.parts.remove(key)?.text, value.value("")))
            });
            members.insert(map.to_owned(), Value::Object(entries.collect()));
        } else {
            let value = node.value(&name);
            members.insert(name, value);
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(path: &str, body: &str) -> Request<Bytes> {
        Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8")
            .body(Bytes::copy_from_slice(body.as_bytes()))
            .unwrap()
    }

    #[test]
    fn a_form_is_for_sqs_by_its_version_or_by_its_action() {
        let named = |body: &str| operation(&form("/", body));
        assert_eq!(named("Action=SendMessage&Version=2012-11-05").as_deref(), Some("SendMessage"));
        assert_eq!(named("Version=2012-11-05&Action=Dance").as_deref(), Some("Dance"));
        assert_eq!(named("Action=ListQueues").as_deref(), Some("ListQueues"));
        assert_eq!(named("Action=PutMetricData"), None);
        assert_eq!(named("Action=ListQueues&Version=2010-08-01"), None);
        assert_eq!(named("Version=2012-11-05"), None);
        let url = Request::get("/1/q?Action=ReceiveMessage&Version=2012-11-05").body(Bytes::new()).unwrap();
        assert_eq!(operation(&url).as_deref(), Some("ReceiveMessage"));
    }

    #[test]
    fn numbered_parameters_become_lists_and_maps_in_the_order_of_their_numbers() {
        let read = |body: &str| read(&form("/", body));
        assert_eq!(
            read("AttributeName.10=c&AttributeName.2=b&AttributeName.1=a&MaxNumberOfMessages=7"),
            json!({ "AttributeNames": ["a", "b", "c"], "MaxNumberOfMessages": 7 })
        );
        assert_eq!(
            read("Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=k&Tag.1.Value="),
            json!({ "Attributes": { "DelaySeconds": "5" }, "Tags": { "k": "" } })
        );
        assert_eq!(
            read(
                "SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.DelaySeconds=3\
                 &SendMessageBatchRequestEntry.1.MessageAttribute.1.Name=n\
                 &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType=String\
                 &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue=1%2B+%C3%A9"
            ),
            json!({ "Entries": [{
                "Id": "a",
                "DelaySeconds": 3,
                "MessageAttributes": { "n": { "DataType": "String", "StringValue": "1+ é" } },
            }] })
        );
    }

    #[test]
    fn the_path_names_the_queue_unless_a_parameter_does() {
        assert_eq!(read(&form("/1/q", "")), json!({ "QueueUrl": "/1/q" }));
        assert_eq!(read(&form("/1/q", "QueueUrl=other")), json!({ "QueueUrl": "other" }));
    }

    #[test]
    fn nonsense_is_read_as_far_as_it_goes() {
        let deep = "a.".repeat(100_000);
        for body in ["", "&&=", "Attribute.x.Name=a", "Tag.1.Value=v", "Attribute=a", &deep] {
            assert!(read(&form("/", body)).is_object(), "{body}");
        }
    }
}
