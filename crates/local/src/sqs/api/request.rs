//! Parameters that many operations share.

use std::time::Duration;

use redrive_sqs::{LONGEST_VISIBILITY, queue_name};

use super::SERVICE;
use crate::protocol::{AwsError, RequestContext};
use crate::queue::error;
use crate::sqs::Sqs;

pub(super) type Context<'a> = RequestContext<'a, Sqs>;

impl Context<'_> {
    /// Returns the URL of a queue at the address to which the client sent the request.
    pub(super) fn url(&self, name: &str) -> String {
        format!("http://{}/{}/{name}", self.call.host(), self.service.account())
    }

    /// Refuses an operation that is not about a queue at the URL of a queue, as AWS was observed to do:
    /// <https://github.com/localstack/localstack/blob/8b9a79f/tests/aws/services/sqs/test_sqs.py>
    pub(super) fn at_no_queue(&self) -> Result<(), AwsError> {
        if self.call.is_query_at_queue() {
            let (kind, message) = SERVICE.unknown;
            return Err(kind.error(message.replace("{}", &self.call.operation)));
        }
        Ok(())
    }

    /// Returns the name at the end of a queue's URL, with anything before it. A form may name a queue by its path instead.
    pub(super) fn queue(&mut self, url: Option<String>) -> Result<String, AwsError> {
        let path = Some(self.call.path().to_owned()).filter(|path| path.len() > 1);
        let url = required(url.or(path), "QueueUrl")?;
        let name = queue_name(url.trim_end_matches('/'));
        if self.service.access(name) { Ok(name.to_owned()) } else { Err(error::no_such_queue()) }
    }
}

pub(super) fn required<T>(value: Option<T>, parameter: &str) -> Result<T, AwsError> {
    value.ok_or_else(|| error::missing(parameter))
}

/// Checks a number of seconds within a range that begins at zero.
pub(super) fn seconds(
    value: i64,
    parameter: &str,
    most: Duration,
    reason: &str,
) -> Result<Duration, AwsError> {
    match u64::try_from(value).map(Duration::from_secs) {
        Ok(seconds) if seconds <= most => Ok(seconds),
        _ => Err(error::invalid(parameter, value, reason)),
    }
}

pub(super) fn visibility_timeout(value: i64) -> Result<Duration, AwsError> {
    seconds(value, "VisibilityTimeout", LONGEST_VISIBILITY, &error::visibility_timeout())
}

/// Checks the most items to return: 1 to `most`.
pub(super) fn count(value: i64, parameter: &str, most: usize, reason: &str) -> Result<usize, AwsError> {
    let count = usize::try_from(value).ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| error::invalid(parameter, value, reason))
}
