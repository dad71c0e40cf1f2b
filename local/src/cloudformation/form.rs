//! What an operation is asked: the parameters of a form.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;

use super::CloudFormation;
use super::refusal::Refusal;
use crate::clock::ClientClock;
use crate::cloudformation::StackConfig;

const VERSION: &str = "2010-05-15";

/// A form, and what there is to tell of.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) cloudformation: &'a CloudFormation,
    pub(super) form: Form,
    pub(super) clock: ClientClock,
}

#[derive(Debug)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// A form that is meant for CloudFormation: no other service has this version. It may be in the URL.
    pub(super) fn read(request: &Request<Bytes>) -> Option<Self> {
        let query = request.uri().query().unwrap_or_default().as_bytes();
        let pairs = form_urlencoded::parse(query).chain(form_urlencoded::parse(request.body()));
        let form = Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect());
        (form.get("Version") == Some(VERSION)).then_some(form)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl<'a> Asked<'a> {
    /// The stack that must be named.
    pub(super) fn stack(&self) -> Result<&'a StackConfig, Refusal> {
        let name = self.form.get("StackName").ok_or_else(|| Refusal::missing("stackName"))?;
        self.cloudformation.find(name)
    }
}
