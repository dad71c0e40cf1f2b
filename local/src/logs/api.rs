//! The operations of CloudWatch Logs, in AWS JSON 1.1.

use super::{Logs, describe, filter_events};
use crate::protocol::{SERIALIZATION, Service, UNKNOWN_OPERATION, plain};

pub(crate) static SERVICE: Service<Logs> = Service {
    name: "logs",
    operations: &[
        ("DescribeLogGroups", describe::groups),
        ("DescribeLogStreams", describe::streams),
        ("FilterLogEvents", filter_events::filter),
    ],
    target: Some(("Logs_20140328", "1.1")),
    query: None,
    routes: &[],
    unknown: (UNKNOWN_OPERATION, "redrive-local does not support the operation {} of CloudWatch Logs"),
    unreadable: (SERIALIZATION, "{}"),
    body: plain,
};
