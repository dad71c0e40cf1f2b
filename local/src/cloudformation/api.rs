//! The operations of CloudFormation, in the query protocol.

use super::{CloudFormation, resources, stacks};
use crate::protocol::{Query, SERIALIZATION, Service, UNKNOWN_OPERATION, plain};

pub(crate) static SERVICE: Service<CloudFormation> = Service {
    name: "cloudformation",
    operations: &[
        ("DescribeStackResource", resources::describe_one),
        ("DescribeStackResources", resources::describe),
        ("DescribeStacks", stacks::describe),
        ("GetTemplate", stacks::template),
        ("ListStackResources", resources::list),
    ],
    target: None,
    query: Some(Query {
        version: "2010-05-15",
        namespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/",
        flat: false,
        lists: &[],
        maps: &[],
    }),
    routes: &[],
    unknown: (UNKNOWN_OPERATION, "redrive-local does not support the operation {} of CloudFormation"),
    unreadable: (SERIALIZATION, "{}"),
    body: plain,
};
