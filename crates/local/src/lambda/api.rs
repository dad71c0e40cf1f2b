//! The operations of Lambda, in REST JSON: the operation is the method and the path, JSON is in the bodies.

use http::{Method, StatusCode};

use super::error::INVALID_PARAMETER_VALUE;
use super::{Lambda, concurrency, functions, list_mappings, update_mapping};
use crate::protocol::{Route, Service, UNKNOWN_OPERATION, plain};

pub(crate) static SERVICE: Service<Lambda> = Service {
    name: "lambda",
    operations: &[
        ("DeleteFunctionConcurrency", concurrency::delete),
        ("GetEventSourceMapping", list_mappings::get),
        ("GetFunction", functions::get),
        ("GetFunctionConcurrency", concurrency::get),
        ("GetFunctionConfiguration", functions::configuration),
        ("ListEventSourceMappings", list_mappings::list),
        ("ListFunctions", functions::list),
        ("ListVersionsByFunction", functions::versions),
        ("PutFunctionConcurrency", concurrency::put),
        ("UpdateEventSourceMapping", update_mapping::update),
    ],
    target: None,
    query: None,
    routes: &[
        Route(Method::GET, "2015-03-31/event-source-mappings", "ListEventSourceMappings", 200),
        Route(Method::GET, "2015-03-31/event-source-mappings/*", "GetEventSourceMapping", 200),
        Route(Method::PUT, "2015-03-31/event-source-mappings/*", "UpdateEventSourceMapping", 202),
        Route(Method::GET, "2015-03-31/functions", "ListFunctions", 200),
        Route(Method::GET, "2015-03-31/functions/*", "GetFunction", 200),
        Route(Method::GET, "2015-03-31/functions/*/configuration", "GetFunctionConfiguration", 200),
        Route(Method::GET, "2015-03-31/functions/*/versions", "ListVersionsByFunction", 200),
        Route(Method::GET, "2019-09-30/functions/*/concurrency", "GetFunctionConcurrency", 200),
        Route(Method::PUT, "2017-10-31/functions/*/concurrency", "PutFunctionConcurrency", 200),
        Route(Method::DELETE, "2017-10-31/functions/*/concurrency", "DeleteFunctionConcurrency", 204),
    ],
    unknown: (
        UNKNOWN_OPERATION.with_status(StatusCode::NOT_FOUND),
        "redrive-local does not support {} of Lambda",
    ),
    unreadable: (INVALID_PARAMETER_VALUE, "Could not parse request body into json: {}"),
    body: plain,
};
