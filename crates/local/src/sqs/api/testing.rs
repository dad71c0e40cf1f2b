//! Helpers for the tests of the operations.

use std::collections::BTreeMap;

use super::SERVICE;
use crate::protocol::testing::{Client, at};
use crate::sqs::Sqs;

/// Returns a client of a standard queue `q` and a FIFO queue `f.fifo`.
pub(crate) fn client() -> Client<Sqs> {
    let mut sqs = Sqs::new("eu-west-1", "123456789012");
    sqs.create("q", &BTreeMap::new(), at(0)).unwrap();
    let fifo = BTreeMap::from([("FifoQueue".to_owned(), "true".to_owned())]);
    sqs.create("f.fifo", &fifo, at(0)).unwrap();
    Client::new(&SERVICE, sqs)
}
