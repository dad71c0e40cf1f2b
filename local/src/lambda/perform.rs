//! The operations of Lambda, by method and path.

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;

use super::refusal::Refusal;
use super::request::{Asked, parts};
use super::{concurrency, functions, list_mappings, update_mapping};

pub(super) type Perform = fn(&mut Asked<'_>) -> Result<Value, Refusal>;

/// An operation: its method, the status of its success, its name, and its path, in which `*` stands for what it is about.
#[derive(Debug)]
pub(super) struct Operation {
    method: Method,
    path: &'static [&'static str],
    pub(super) status: u16,
    pub(super) name: &'static str,
    pub(super) perform: Perform,
}

const OPERATIONS: [Operation; 9] = [
    Operation {
        method: Method::GET,
        path: &["2015-03-31", "event-source-mappings"],
        status: 200,
        name: "ListEventSourceMappings",
        perform: list_mappings::list,
    },
    Operation {
        method: Method::GET,
        path: &["2015-03-31", "event-source-mappings", "*"],
        status: 200,
        name: "GetEventSourceMapping",
        perform: list_mappings::get,
    },
    Operation {
        method: Method::PUT,
        path: &["2015-03-31", "event-source-mappings", "*"],
        status: 202,
        name: "UpdateEventSourceMapping",
        perform: update_mapping::update,
    },
    Operation {
        method: Method::GET,
        path: &["2015-03-31", "functions"],
        status: 200,
        name: "ListFunctions",
        perform: functions::list,
    },
    Operation {
        method: Method::GET,
        path: &["2015-03-31", "functions", "*"],
        status: 200,
        name: "GetFunction",
        perform: functions::get,
    },
    Operation {
        method: Method::GET,
        path: &["2015-03-31", "functions", "*", "configuration"],
        status: 200,
        name: "GetFunctionConfiguration",
        perform: functions::configuration,
    },
    Operation {
        method: Method::GET,
        path: &["2019-09-30", "functions", "*", "concurrency"],
        status: 200,
        name: "GetFunctionConcurrency",
        perform: concurrency::get,
    },
    Operation {
        method: Method::PUT,
        path: &["2017-10-31", "functions", "*", "concurrency"],
        status: 200,
        name: "PutFunctionConcurrency",
        perform: concurrency::put,
    },
    Operation {
        method: Method::DELETE,
        path: &["2017-10-31", "functions", "*", "concurrency"],
        status: 204,
        name: "DeleteFunctionConcurrency",
        perform: concurrency::delete,
    },
];

pub(super) fn operation(request: &Request<Bytes>) -> Option<&'static Operation> {
    let parts = parts(request.uri().path());
    OPERATIONS.iter().find(|operation| {
        operation.method == *request.method()
            && operation.path.len() == parts.len()
            && operation.path.iter().zip(&parts).all(|(known, part)| *known == "*" || *known == *part)
    })
}

/// What the path is about: its third part, in all operations that have one.
pub(super) fn subject(request: &Request<Bytes>) -> Option<String> {
    parts(request.uri().path()).get(2).map(|part| part.clone().into_owned())
}
