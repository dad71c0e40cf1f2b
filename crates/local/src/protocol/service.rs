//! Routes requests to the operations of services.

use std::time::SystemTime;

use bytes::Bytes;
use http::{Method, Request, Response};

use super::call::{Format, Syntax, is_of_queue, parts};
use super::form::{self, Form};
use super::input::Input;
use super::{Answer, AwsError, Call, ErrorKind, RequestContext, Wait};
use crate::clock::ClientClock;

/// An operation of a service with the state `S`.
pub(crate) type Operation<S> = fn(&mut RequestContext<'_, S>) -> Answer;

/// A service with the state `S`.
#[derive(Debug)]
pub(crate) struct Service<S: 'static> {
    /// The prefix under which its calls are counted, such as `sqs`.
    pub(crate) name: &'static str,
    pub(crate) operations: &'static [(&'static str, Operation<S>)],
    /// The prefix of the operation in AWS JSON's header and in CBOR's path, and the version of AWS JSON.
    pub(crate) target: Option<(&'static str, &'static str)>,
    pub(crate) query: Option<Query>,
    /// The operations of REST JSON. All of the service's paths begin with a date or a name.
    pub(crate) routes: &'static [Route],
    /// The error for an unknown operation. `{}` stands for its name.
    pub(crate) unknown: (ErrorKind, &'static str),
    /// The error for an input that cannot be read. `{}` stands for the reason.
    pub(crate) unreadable: (ErrorKind, &'static str),
    /// Decompresses the body.
    pub(crate) body: fn(&Request<Bytes>) -> Result<Bytes, AwsError>,
}

/// The query protocol of a service: a form in, XML out.
/// <https://smithy.io/2.0/aws/protocols/aws-query-protocol.html>
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) version: &'static str,
    pub(crate) namespace: &'static str,
    /// True if the elements of lists and maps have the names below and are not nested in another element. Otherwise each is a
    /// `member` or an `entry` of its list or map. Only SQS is flat.
    pub(crate) flat: bool,
    /// Lists with the name of one element. `{}` stands for the operation.
    pub(crate) lists: &'static [(&'static str, &'static str)],
    /// Maps with the names of one entry and of its key.
    pub(crate) maps: &'static [(&'static str, &'static str, &'static str)],
}

/// An operation of REST JSON: its method, its path with `*` for the resource, its name, and the status of its success.
#[derive(Debug)]
pub(crate) struct Route(pub(crate) Method, pub(crate) &'static str, pub(crate) &'static str, pub(crate) u16);

impl<S> Service<S> {
    /// Reads the call in a request, if it is for this service.
    pub(crate) fn read<'a>(&'a self, request: &'a Request<Bytes>) -> Option<Call<'a>> {
        let call = |operation: &str, format, input| Call {
            operation: operation.to_owned(),
            format,
            input,
            request,
            unreadable: self.unreadable,
        };
        let path = request.uri().path();
        if let Some((target, version)) = self.target {
            let named = |text: &'a str| text.strip_prefix(target)?.strip_prefix('.');
            if let Some(operation) = header(request, "x-amz-target").and_then(named) {
                return Some(call(operation, Format::Json(version), self.json(request)));
            }
            let named = |text: &'a str| text.strip_prefix(target)?.strip_prefix("/operation/");
            if let Some(operation) = path.strip_prefix("/service/").and_then(named) {
                let input = (self.body)(request).and_then(|body| self.readable(Input::cbor(&body)));
                return Some(call(operation, Format::Cbor, input));
            }
        }
        if let Some(query) = &self.query {
            let format = Format::Query(query, Syntax::accepted_by(request));
            return match (self.body)(request) {
                Ok(body) => {
                    let operation = self.operation_of(request, &body, query)?;
                    let form = Form::read(request, &body).map(|form| Input::Form(form.structured(query)));
                    Some(call(&operation, format, self.readable(form)))
                }
                Err(refused) if form::is_one(request) => Some(call("", format, Err(refused))),
                Err(_) => None,
            };
        }
        let parts = parts(path);
        let is_of = |route: &&Route| {
            let known: Vec<_> = route.1.split('/').collect();
            route.0 == *request.method()
                && known.len() == parts.len()
                && known.iter().zip(&parts).all(|(known, part)| *known == "*" || known == part)
        };
        let first = parts.first()?;
        let begins = |known: &str| known == first || is_date(known) && is_date(first);
        if !self.routes.iter().any(|route| route.1.split('/').next().is_some_and(begins)) {
            return None;
        }
        Some(match self.routes.iter().find(is_of) {
            Some(Route(_, _, name, status)) => call(name, Format::Rest(*status), self.json(request)),
            None => call(
                &format!("{} {path}", request.method()),
                Format::Rest(404),
                Ok(Input::Json(Bytes::new())),
            ),
        })
    }

    /// Answers a call of a client with this clock, and returns how long the call may wait. Every call gets an answer.
    pub(crate) fn answer(
        &self,
        call: &Call<'_>,
        service: &mut S,
        now: SystemTime,
        clock: ClientClock,
    ) -> (Response<Bytes>, Option<Wait>) {
        let mut context = RequestContext { service, call, now, clock, wait: None };
        let result = match (self.operation(&call.operation), &call.input) {
            (_, Err(refused)) => Err(refused.clone()),
            (Some(perform), Ok(_)) => perform(&mut context),
            (None, Ok(_)) => {
                let (kind, message) = self.unknown;
                Err(kind.error(message.replace("{}", &call.operation)))
            }
        };
        let query_mode = header(call.request, "x-amzn-query-mode") == Some("true");
        (call.format.respond(&call.operation, result, query_mode), context.wait)
    }

    fn operation(&self, name: &str) -> Option<Operation<S>> {
        self.operations.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation)
    }

    /// Returns the action of a form, if its version is this service's, or without a version if the service has the action. At
    /// the URL of a queue any action is for SQS.
    fn operation_of(&self, request: &Request<Bytes>, body: &[u8], query: &Query) -> Option<String> {
        let action = form::parameter(request, body, "Action")?;
        let is_ours = match form::parameter(request, body, "Version") {
            Some(version) => version == query.version,
            None => self.operation(&action).is_some() || (query.flat && is_of_queue(request.uri().path())),
        };
        is_ours.then_some(action)
    }

    fn json(&self, request: &Request<Bytes>) -> Result<Input, AwsError> {
        (self.body)(request).and_then(|body| self.readable(Input::json(body)))
    }

    fn readable(&self, input: Result<Input, String>) -> Result<Input, AwsError> {
        let (kind, message) = self.unreadable;
        input.map_err(|reason| kind.error(message.replace("{}", &reason)))
    }
}

/// Returns the body of a request, which no client compresses.
pub(crate) fn plain(request: &Request<Bytes>) -> Result<Bytes, AwsError> {
    Ok(request.body().clone())
}

fn header<'a>(request: &'a Request<Bytes>, name: &str) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}

fn is_date(part: &str) -> bool {
    let fits = |(place, byte): (usize, u8)| {
        if matches!(place, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    part.len() == 10 && part.bytes().enumerate().all(fits)
}
