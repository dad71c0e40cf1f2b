//! Ids that clients choose: of groups, of duplicates and of receive attempts.

use super::error;
use super::settings::Settings;
use crate::protocol::AwsError;

pub(super) fn check_id(parameter: &str, id: &str) -> Result<(), AwsError> {
    if redrive_sqs::is_message_id(id) {
        return Ok(());
    }
    let reason =
        format!("{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.");
    Err(error::invalid(parameter, id, reason))
}

pub(super) fn check_fifo_only(parameter: &str, id: &str, settings: &Settings) -> Result<(), AwsError> {
    if settings.fifo {
        return Ok(());
    }
    let reason = "The request includes a parameter that is not valid for this queue type.";
    Err(error::invalid(parameter, id, reason))
}
