//! The operations of CloudWatch Logs, in AWS JSON 1.1.

use serde::Deserialize;

use super::group::Group;
use super::{Logs, describe, filter_events};
use crate::protocol::{
    AwsError, ErrorKind, Number, RequestContext, SERIALIZATION, Service, UNKNOWN_OPERATION, plain,
};

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

pub(super) type Context<'a> = RequestContext<'a, Logs>;

pub(super) const INVALID_PARAMETER: ErrorKind = ErrorKind::named("InvalidParameterException");
const RESOURCE_NOT_FOUND: ErrorKind = ErrorKind::named("ResourceNotFoundException");

/// The input of any operation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    pub(super) descending: Option<bool>,
    pub(super) end_time: Option<i64>,
    pub(super) filter_pattern: Option<String>,
    limit: Option<Number>,
    log_group_identifier: Option<String>,
    log_group_name: Option<String>,
    pub(super) log_group_name_pattern: Option<String>,
    pub(super) log_group_name_prefix: Option<String>,
    pub(super) log_stream_name_prefix: Option<String>,
    pub(super) log_stream_names: Option<Vec<String>>,
    pub(super) next_token: Option<String>,
    pub(super) order_by: Option<String>,
    pub(super) start_time: Option<i64>,
}

impl Input {
    /// Returns the most items to return.
    pub(super) fn limit(&self, most: u32) -> Result<usize, AwsError> {
        let limit = self.limit.map(|limit| INVALID_PARAMETER.within(limit, "limit", 1..=most));
        Ok(limit.transpose()?.unwrap_or(most) as usize)
    }

    /// Finds the group that the input names by its name or its ARN.
    pub(super) fn group<'a>(&self, logs: &'a Logs) -> Result<(&'a str, &'a Group), AwsError> {
        let name = match (&self.log_group_name, &self.log_group_identifier) {
            (Some(name), None) => name,
            (None, Some(identifier)) => {
                let name = identifier.split_once(":log-group:").map_or(&**identifier, |(_, name)| name);
                name.trim_end_matches(":*")
            }
            (None, None) | (Some(_), Some(_)) => {
                let message = "Exactly one of logGroupName and logGroupIdentifier must be specified";
                return Err(INVALID_PARAMETER.error(message));
            }
        };
        let found = logs.groups.get_key_value(name).map(|(name, group)| (name.as_str(), group));
        found.ok_or_else(|| RESOURCE_NOT_FOUND.error("The specified log group does not exist."))
    }
}

pub(super) fn bad_token(_: &str) -> AwsError {
    INVALID_PARAMETER.error("The specified nextToken is invalid.")
}
