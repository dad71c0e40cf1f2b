//! CloudWatch's errors. The names of shapes differ from the codes of the query protocol.

use std::fmt::Display;

use http::StatusCode;

use crate::protocol::{AwsError, ErrorKind};

pub(super) const INVALID_FORMAT: ErrorKind =
    ErrorKind::new("com.amazonaws.cloudwatch.v2010_08_01#InvalidFormatFault", "InvalidFormat");
pub(super) const INVALID_NEXT_TOKEN: ErrorKind =
    ErrorKind::new("com.amazonaws.cloudwatch.v2010_08_01#InvalidNextToken", "InvalidNextToken");
pub(super) const INVALID_PARAMETER_COMBINATION: ErrorKind = ErrorKind::new(
    "com.amazonaws.cloudwatch.v2010_08_01#InvalidParameterCombinationException",
    "InvalidParameterCombination",
);
pub(super) const INVALID_PARAMETER_VALUE: ErrorKind = ErrorKind::new(
    "com.amazonaws.cloudwatch.v2010_08_01#InvalidParameterValueException",
    "InvalidParameterValue",
);
pub(super) const MISSING_PARAMETER: ErrorKind = ErrorKind::new(
    "com.amazonaws.cloudwatch.v2010_08_01#MissingRequiredParameterException",
    "MissingParameter",
);
pub(super) const REQUEST_TOO_LARGE: ErrorKind =
    ErrorKind::new("com.amazon.coral.service#RequestEntityTooLargeException", "RequestEntityTooLarge")
        .with_status(StatusCode::PAYLOAD_TOO_LARGE);
pub(super) const RESOURCE_NOT_FOUND: ErrorKind =
    ErrorKind::new("com.amazonaws.cloudwatch.v2010_08_01#ResourceNotFound", "ResourceNotFound")
        .with_query_status(StatusCode::NOT_FOUND);

pub(super) fn invalid(message: impl Into<String>) -> AwsError {
    INVALID_PARAMETER_VALUE.error(message)
}

pub(super) fn invalid_value(parameter: &str, value: impl Display) -> AwsError {
    invalid(format!("The value {value} for parameter {parameter} is invalid."))
}

pub(super) fn too_many(collection: &str, most: usize) -> AwsError {
    invalid(format!("The collection {collection} must not have a size greater than {most}."))
}

pub(super) fn missing(parameter: &str) -> AwsError {
    MISSING_PARAMETER.error(format!("The parameter {parameter} is required."))
}

/// Returns the error without a message, as CloudWatch does.
pub(super) fn not_found() -> AwsError {
    RESOURCE_NOT_FOUND.error("")
}

pub(super) fn next_token(_: &str) -> AwsError {
    INVALID_NEXT_TOKEN.error("NextToken is invalid")
}
