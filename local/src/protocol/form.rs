//! Forms of the query protocol, in the body or in the URL: `MetricData.member.1.MetricName=Orders`, or where lists are
//! flat `AttributeName.1=All`, becomes the tree that JSON would have.

use std::collections::BTreeMap;
use std::iter::empty;

use bytes::Bytes;
use http::{Method, Request, header};
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::count;
use super::query::Query;

/// How deep a name is followed; no parameter of any service is half as deep.
const MOST_PARTS: usize = 16;

/// The parameters, by the parts of their names, which are sorted.
#[derive(Debug, Default)]
pub(super) struct Form {
    text: String,
    parts: Vec<(String, Self)>,
}

/// A form in the structure of the input. All its leaves are texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

/// Whether the body of a request is a form.
pub(super) fn is_one(request: &Request<Bytes>) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    request.method() == Method::POST && content_type.starts_with(b"application/x-www-form-urlencoded")
}

/// A parameter of the body or else of the URL.
pub(super) fn parameter(request: &Request<Bytes>, body: &[u8], name: &str) -> Option<String> {
    let parameters = encoded(request, body).into_iter().flat_map(form_urlencoded::parse);
    parameters.filter(|(known, _)| known == name).last().map(|(_, value)| value.into_owned())
}

/// The parameters of the URL and those of the body, if it is a form.
fn encoded<'a>(request: &'a Request<Bytes>, body: &'a [u8]) -> [&'a [u8]; 2] {
    let url = request.uri().query().unwrap_or_default();
    [url.as_bytes(), if is_one(request) { body } else { &[] }]
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.splitn(MOST_PARTS, '.')
}

impl Form {
    /// # Errors
    /// It holds too much.
    pub(super) fn read(request: &Request<Bytes>, body: &[u8]) -> Result<Self, String> {
        let encoded = encoded(request, body);
        count::check(encoded.iter().flat_map(|part| part.iter()).filter(|byte| **byte == b'&').count())?;
        let mut parameters: Vec<_> = encoded.into_iter().flat_map(form_urlencoded::parse).collect();
        // Those of the body stay behind those of the URL, and win.
        parameters.sort_by(|(one, _), (other, _)| parts(one).cmp(parts(other)));
        let (mut root, mut forms) = (Self::default(), 0);
        for (name, value) in parameters {
            let leaf = parts(&name).fold(&mut root, |form, part| form.part(part, &mut forms));
            leaf.text = value.into_owned();
            count::check(forms)?;
        }
        Ok(root)
    }

    /// The part of this name, which is not before those that are there.
    fn part(&mut self, name: &str, forms: &mut usize) -> &mut Self {
        if self.parts.last().is_none_or(|(last, _)| last != name) {
            self.parts.push((name.to_owned(), Self::default()));
            *forms += 1;
        }
        &mut self.parts.last_mut().expect("it is there").1
    }

    fn remove(&mut self, name: &str) -> Option<Self> {
        let at = self.parts.iter().position(|(known, _)| known == name)?;
        Some(self.parts.remove(at).1)
    }

    pub(super) fn structured(mut self, query: &Query) -> Tree {
        let operation = self.remove("Action").unwrap_or_default().text;
        self.remove("Version");
        Tree::Map(self.members(query, &operation))
    }

    fn members(self, query: &Query, operation: &str) -> Vec<(String, Tree)> {
        let mut members = Vec::with_capacity(self.parts.len());
        for (name, form) in self.parts {
            let is_numbered = query.flat && !form.parts.is_empty();
            let list = query.lists.iter().find(|(_, element)| element.replace("{}", operation) == name);
            let map = query.maps.iter().find(|(_, entry, _)| *entry == name);
            if let Some((list, _)) = list.filter(|_| is_numbered) {
                members.push(((*list).to_owned(), form.list(query, operation)));
            } else if let Some((map, _, key)) = map.filter(|_| is_numbered) {
                let entries = form.numbered().filter_map(|mut entry| {
                    let value = entry.remove("Value").unwrap_or_default();
                    Some((entry.remove(key)?.text, value.tree(query, operation)))
                });
                members.push(((*map).to_owned(), Tree::Map(entries.collect())));
            } else {
                members.push((name, form.tree(query, operation)));
            }
        }
        members
    }

    fn tree(mut self, query: &Query, operation: &str) -> Tree {
        match self.parts.len() {
            0 => Tree::Text(self.text),
            1 if !query.flat && self.parts[0].0 == "member" => self.parts.remove(0).1.list(query, operation),
            _ => Tree::Map(self.members(query, operation)),
        }
    }

    fn list(self, query: &Query, operation: &str) -> Tree {
        Tree::List(self.numbered().map(|item| item.tree(query, operation)).collect())
    }

    /// The numbered parts, in the order of their numbers, whichever are left out.
    fn numbered(self) -> impl Iterator<Item = Self> {
        let parts = self.parts.into_iter();
        let parts = parts.filter_map(|(number, form)| Some((number.parse::<u32>().ok()?, form)));
        parts.collect::<BTreeMap<_, _>>().into_values()
    }
}

impl<'de> IntoDeserializer<'de, Error> for &'de Tree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// A text is a number where one is wanted, and an empty list or map if it is empty: `Entries=`.
impl<'de> Deserializer<'de> for &'de Tree {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Text(text) => visitor.visit_str(text),
            Tree::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Tree::Map(members) => {
                let members = members.iter().map(|(name, value)| (name.as_str(), value));
                visitor.visit_map(MapDeserializer::new(members))
            }
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Text(text) if text.parse::<i64>().is_ok() => {
                visitor.visit_i64(text.parse().unwrap_or_default())
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Text(text) if text.is_empty() => visitor.visit_seq(SeqDeserializer::new(empty::<&Tree>())),
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Text(text) if text.is_empty() => {
                visitor.visit_map(MapDeserializer::new(empty::<(&str, &Tree)>()))
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cloudwatch::api as cloudwatch;
    use crate::sqs::api as sqs;

    fn read(query: &Query, path: &str, body: &str) -> Value {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8")
            .body(Bytes::copy_from_slice(body.as_bytes()))
            .unwrap();
        let tree = Form::read(&request, request.body()).unwrap().structured(query);
        serde::Deserialize::deserialize(&tree).unwrap()
    }

    #[test]
    fn numbered_parameters_become_lists_and_maps_in_the_order_of_their_numbers() {
        let query = sqs::SERVICE.query.as_ref().unwrap();
        let read = |body: &str| read(query, "/?Tag.9.Key=url", body);
        let url = json!({ "url": "" });
        assert_eq!(
            read("AttributeName.10=c&AttributeName.2=b&AttributeName.1=a&QueueUrl=q"),
            json!({ "AttributeNames": ["a", "b", "c"], "QueueUrl": "q", "Tags": url })
        );
        assert_eq!(
            read("Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=k&Tag.1.Value="),
            json!({ "Attributes": { "DelaySeconds": "5" }, "Tags": { "k": "", "url": "" } })
        );
        assert_eq!(
            read(
                "Action=SendMessageBatch&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.DelaySeconds=3\
                 &SendMessageBatchRequestEntry.1.MessageAttribute.1.Name=n\
                 &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType=String\
                 &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue=1%2B+%C3%A9"
            ),
            json!({ "Entries": [{
                "Id": "a",
                "DelaySeconds": "3",
                "MessageAttributes": { "n": { "DataType": "String", "StringValue": "1+ é" } },
            }], "Tags": url })
        );
    }

    #[test]
    fn members_become_lists_in_the_order_of_their_numbers() {
        let body = "Action=PutMetricData&Version=2010-08-01&Namespace=Shop%2FTea&MetricData.member.2.Value=2\
            &MetricData.member.10.Value=10&MetricData.member.1.Dimensions.member.1.Name=Queue&Empty=";
        let expected = json!({
            "Empty": "",
            "MetricData": [{ "Dimensions": [{ "Name": "Queue" }] }, { "Value": "2" }, { "Value": "10" }],
            "Namespace": "Shop/Tea",
        });
        assert_eq!(read(cloudwatch::SERVICE.query.as_ref().unwrap(), "/", body), expected);
    }

    #[test]
    fn a_text_is_a_number_or_an_empty_list_or_map_where_one_is_wanted() {
        let text = |text: &str| Tree::Text(text.to_owned());
        let number = |tree: &Tree| <Option<i64> as serde::Deserialize>::deserialize(tree).ok();
        assert_eq!((number(&text("-7")), number(&text("seven"))), (Some(Some(-7)), None));
        let list: Vec<String> = serde::Deserialize::deserialize(&text("")).unwrap();
        let map: BTreeMap<String, String> = serde::Deserialize::deserialize(&text("")).unwrap();
        assert!(list.is_empty() && map.is_empty());
    }

    #[test]
    fn what_the_body_says_wins_and_is_found_without_reading_the_rest() {
        let body = "Action=a&Tag.1.Key=k&Action=b";
        let request = Request::post("/?Action=u&Version=1")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::new())
            .unwrap();
        let parameter = |name| parameter(&request, body.as_bytes(), name);
        assert_eq!(["Action", "Version", "Tag"].map(parameter), [Some("b".into()), Some("1".into()), None]);
    }

    #[test]
    fn too_many_parameters_and_too_many_parts_of_them_are_refused() {
        let read = |body: String| {
            let request =
                Request::post("/").header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
            let request = request.body(Bytes::from(body)).unwrap();
            Form::read(&request, request.body()).map(drop)
        };
        let parts = |parameters| (0..parameters).map(|number| format!("{number}.a.b.c.d.e.f=&")).collect();
        assert_eq!(read(parts(74_000)), Ok(()));
        assert!(read(parts(76_000)).unwrap_err().ends_with("more than 524288 values"));
        let parameters = "&".repeat(600_000);
        assert_eq!(read(parameters).unwrap_err(), "the input holds more than 524288 values");
    }

    #[test]
    fn nonsense_is_read_as_far_as_it_goes() {
        let deep = "a.".repeat(100_000);
        for service in [sqs::SERVICE.query.as_ref(), cloudwatch::SERVICE.query.as_ref()] {
            for body in ["", "&&=", "Attribute.x.Name=a", "Tag.1.Value=v", "Attribute=a", &deep] {
                assert!(read(service.unwrap(), "/", body).is_object(), "{body}");
            }
        }
    }
}
