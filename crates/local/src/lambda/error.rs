//! Lambda's errors.

use http::StatusCode;

use crate::protocol::{AwsError, ErrorKind};

pub(super) const INVALID_PARAMETER_VALUE: ErrorKind = ErrorKind::named("InvalidParameterValueException");
pub(super) const RESOURCE_IN_USE: ErrorKind = ErrorKind::named("ResourceInUseException");
pub(super) const RESOURCE_NOT_FOUND: ErrorKind =
    ErrorKind::named("ResourceNotFoundException").with_status(StatusCode::NOT_FOUND);

pub(super) fn invalid(message: impl Into<String>) -> AwsError {
    INVALID_PARAMETER_VALUE.error(message)
}

pub(super) fn unreadable(reason: impl std::fmt::Display) -> AwsError {
    invalid(format!("Could not parse request body into json: {reason}"))
}
