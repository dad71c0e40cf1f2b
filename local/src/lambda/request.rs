//! What an operation is asked: the parts of the path, the query and the body.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::functions::Function;
use super::refusal::Refusal;
use super::{Lambda, perform};
use crate::clock::ClientClock;

/// A request and all that an operation may look at or change.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) lambda: &'a mut Lambda,
    /// What stands in the path where the route has a `*`: a function's name or ARN, or a mapping's id.
    pub(super) subject: String,
    pub(super) query: BTreeMap<String, String>,
    body: &'a [u8],
    pub(super) now: SystemTime,
    pub(super) clock: ClientClock,
}

/// A path, such as `/2015-03-31/functions/orders/configuration`, as the parts of it.
pub(super) fn parts(path: &str) -> Vec<Cow<'_, str>> {
    path.split('/').filter(|part| !part.is_empty()).map(decoded).collect()
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        lambda: &'a mut Lambda,
        request: &'a Request<Bytes>,
        now: SystemTime,
        clock: ClientClock,
    ) -> Self {
        let query = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
        Self {
            lambda,
            subject: perform::subject(request).unwrap_or_default(),
            query: query.into_owned().collect(),
            body: request.body(),
            now,
            clock,
        }
    }

    pub(super) fn body(&self) -> Result<Map<String, Value>, Refusal> {
        if self.body.is_empty() {
            return Ok(Map::new());
        }
        serde_json::from_slice(self.body).map_err(Refusal::unreadable)
    }

    /// The function that the path names.
    pub(super) fn function(&self) -> Result<&Function, Refusal> {
        self.find_function(&self.subject, self.query.get("Qualifier").map(String::as_str))
    }

    /// A function by its name, its ARN or a part of the ARN, with or without a qualifier. There are no versions here.
    pub(super) fn find_function(&self, text: &str, qualifier: Option<&str>) -> Result<&Function, Refusal> {
        let name = text.rsplit_once("function:").map_or(text, |(_, name)| name);
        let (name, own) = name.split_once(':').map_or((name, None), |(name, own)| (name, Some(own)));
        let qualifier = qualifier.or(own).filter(|qualifier| *qualifier != "$LATEST");
        match (self.lambda.function(name), qualifier) {
            (Some(function), None) => Ok(function),
            (_, None) => Err(Refusal::no_such_function(&self.lambda.function_arn(name))),
            (_, Some(qualifier)) => {
                let arn = self.lambda.function_arn(&format!("{name}:{qualifier}"));
                Err(Refusal::no_such_function(&arn))
            }
        }
    }

    /// The index of the mapping that the path names.
    pub(super) fn mapping(&self) -> Result<usize, Refusal> {
        let found = self.lambda.mappings.iter().position(|mapping| mapping.id == self.subject);
        found.ok_or_else(Refusal::no_such_mapping)
    }
}
