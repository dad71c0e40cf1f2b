//! Reads forms of the query protocol, in the body or in the URL. `MetricData.member.1.MetricName=Orders`, or
//! `AttributeName.1=All` if lists are flat, becomes the tree that JSON would have.

use std::collections::BTreeMap;
use std::iter::empty;

use bytes::Bytes;
use http::{Method, Request, header};
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{Query, count};

/// Most parts of a name that are read. No parameter of any service has half as many.
const MOST_PARTS: usize = 16;

/// The parameters as a tree, by the sorted parts of their names.
#[derive(Debug, Default)]
pub(super) struct Form {
    text: String,
    parts: Vec<(String, Self)>,
}

/// A form with the structure of the input. All leaves are texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

/// Returns true if the body of a request is a form.
pub(super) fn is_one(request: &Request<Bytes>) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    request.method() == Method::POST && content_type.starts_with(b"application/x-www-form-urlencoded")
}

/// Returns a parameter of the body, or else of the URL.
pub(super) fn parameter(request: &Request<Bytes>, body: &[u8], name: &str) -> Option<String> {
    let parameters = encoded(request, body).into_iter().flat_map(form_urlencoded::parse);
    parameters.filter(|(known, _)| known == name).last().map(|(_, value)| value.into_owned())
}

/// Returns the parameters of the URL, and those of the body if it is a form.
fn encoded<'a>(request: &'a Request<Bytes>, body: &'a [u8]) -> [&'a [u8]; 2] {
    let url = request.uri().query().unwrap_or_default();
    [url.as_bytes(), if is_one(request) { body } else { &[] }]
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.splitn(MOST_PARTS, '.')
}

impl Form {
    /// # Errors
    /// Returns an error if the form has too many values.
    pub(super) fn read(request: &Request<Bytes>, body: &[u8]) -> Result<Self, String> {
        let encoded = encoded(request, body);
        count::check(encoded.iter().flat_map(|part| part.iter()).filter(|byte| **byte == b'&').count())?;
        let mut parameters: Vec<_> = encoded.into_iter().flat_map(form_urlencoded::parse).collect();
        // Parameters of the body stay behind those of the URL, and win.
        parameters.sort_by(|(one, _), (other, _)| parts(one).cmp(parts(other)));
        let (mut root, mut forms) = (Self::default(), 0);
        for (name, value) in parameters {
            let leaf = parts(&name).fold(&mut root, |form, part| form.part(part, &mut forms));
            leaf.text = value.into_owned();
            count::check(forms)?;
        }
        Ok(root)
    }

    /// Returns the part of this name. Names arrive in sorted order.
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
        let mut filled = Vec::new();
        for (name, form) in self.parts {
            let is_numbered = query.flat && !form.parts.is_empty();
            let list = query.lists.iter().find(|(_, element)| element.replace("{}", operation) == name);
            let map = query.maps.iter().find(|(_, entry, _)| *entry == name);
            if let Some((list, _)) = list.filter(|_| is_numbered) {
                filled.push(*list);
                members.push(((*list).to_owned(), form.list(query, operation)));
            } else if let Some((map, _, key)) = map.filter(|_| is_numbered) {
                filled.push(*map);
                let entries = form.numbered().filter_map(|mut entry| {
                    let value = entry.remove("Value").unwrap_or_default();
                    Some((entry.remove(key)?.text, value.tree(query, operation)))
                });
                members.push(((*map).to_owned(), Tree::Map(entries.collect())));
            } else {
                members.push((name, form.tree(query, operation)));
            }
        }
        // `AttributeNames=` beside `AttributeName.1=All` adds nothing.
        let is_more = |(name, tree): &(String, Tree)| {
            !matches!(tree, Tree::Text(text) if text.is_empty()) || !filled.contains(&name.as_str())
        };
        members.retain(is_more);
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

    /// Returns the numbered parts in the order of their numbers, which can have gaps.
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

/// Reads a text as a number if the field is one, and an empty text as an empty list or map: `Entries=`.
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
mod tests;
