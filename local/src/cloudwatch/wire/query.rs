//! Forms of the query protocol: `MetricData.member.1.MetricName=Orders` is a list of maps. All leaves are texts.

use std::collections::BTreeMap;

use ciborium::Value;

const VERSION: (&str, &str) = ("Version", "2010-08-01");

/// Whether a form is for this version of CloudWatch, which no other service shares.
pub(super) fn is_cloudwatch(body: &[u8]) -> bool {
    form_urlencoded::parse(body).any(|(name, value)| (&*name, &*value) == VERSION)
}

/// The operation and its input.
pub(super) fn read(body: &[u8]) -> (String, Value) {
    let mut operation = String::new();
    let mut root = Node::default();
    for (name, value) in form_urlencoded::parse(body) {
        if name == "Action" {
            operation = value.into_owned();
        } else {
            root.set(&name, value.into_owned());
        }
    }
    (operation, root.into_value())
}

/// How deep a name is followed; nothing in CloudWatch is half as deep.
const DEEPEST: usize = 16;

#[derive(Debug, Default)]
struct Node {
    text: String,
    members: BTreeMap<String, Self>,
}

impl Node {
    fn set(&mut self, path: &str, text: String) {
        let node = path
            .splitn(DEEPEST, '.')
            .fold(self, |node, name| node.members.entry(name.to_owned()).or_default());
        node.text = text;
    }

    fn into_value(mut self) -> Value {
        if self.members.is_empty() {
            return Value::Text(self.text);
        }
        match self.members.remove("member") {
            Some(list) if self.members.is_empty() => list.into_list(),
            Some(member) => {
                self.members.insert("member".to_owned(), member);
                self.into_map()
            }
            None => self.into_map(),
        }
    }

    fn into_map(self) -> Value {
        let entries = self.members.into_iter();
        Value::Map(entries.map(|(name, node)| (Value::Text(name), node.into_value())).collect())
    }

    /// In the order of the numbers, whichever are left out.
    fn into_list(self) -> Value {
        let mut items: Vec<_> = self.members.into_iter().collect();
        items.sort_by_key(|(number, _)| number.parse::<u64>().unwrap_or(u64::MAX));
        Value::Array(items.into_iter().map(|(_, node)| node.into_value()).collect())
    }
}

#[cfg(test)]
mod tests {
    use ciborium::cbor;

    use super::*;

    #[test]
    fn a_form_becomes_maps_and_lists() {
        let body =
            b"Action=PutMetricData&Version=2010-08-01&Namespace=Shop%2FTea&MetricData.member.2.Value=2\
            &MetricData.member.10.Value=10&MetricData.member.1.Dimensions.member.1.Name=Queue&Empty=";
        assert!(is_cloudwatch(body) && !is_cloudwatch(b"Version=2012-11-05"));
        let (operation, input) = read(body);
        assert_eq!(operation, "PutMetricData");
        let expected = cbor!({
            "Empty" => "",
            "MetricData" => [
                { "Dimensions" => [{ "Name" => "Queue" }] }, { "Value" => "2" }, { "Value" => "10" },
            ],
            "Namespace" => "Shop/Tea",
            "Version" => "2010-08-01",
        });
        assert_eq!(input, expected.unwrap());
    }

    #[test]
    fn a_form_nested_without_end_is_read_to_a_depth() {
        let (_, input) = read(format!("a{}=1", ".a".repeat(100_000)).as_bytes());
        assert!(matches!(input, Value::Map(_)));
    }
}
