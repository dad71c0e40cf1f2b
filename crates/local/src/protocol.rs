//! The protocols of AWS's services: AWS JSON, Smithy RPC v2 CBOR, the query protocol and REST JSON, each implemented once for
//! all services.
//!
//! A [`Service`] is a table of operations by name, with the properties of its requests. An operation is a function of a
//! [`RequestContext`]: it reads its input and writes its output with serde, by the names of JSON.
//! <https://smithy.io/2.0/aws/protocols/index.html>

mod call;
mod constraint;
mod context;
mod count;
mod error;
mod field;
mod form;
mod input;
mod page;
mod query_json;
mod response;
mod service;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod xml;

pub(crate) use call::Call;
pub(crate) use context::{Answer, RequestContext, Wait};
pub use error::AwsError;
pub(crate) use error::{ErrorKind, SERIALIZATION, UNKNOWN_OPERATION, VALIDATION};
pub(crate) use field::{Flag, List, Number, Stamp, Time};
pub(crate) use page::{Page, offset, page};
pub(crate) use response::unknown_service;
pub(crate) use service::{Query, Route, Service, plain};
