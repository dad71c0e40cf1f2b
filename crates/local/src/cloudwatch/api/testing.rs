//! Helpers for the tests of the operations.

use super::SERVICE;
use crate::cloudwatch::CloudWatch;
use crate::protocol::testing::Client;

/// Returns a client of a CloudWatch without metrics and alarms.
pub(super) fn client() -> Client<CloudWatch> {
    Client::new(&SERVICE, CloudWatch::new("eu-west-1", "123456789012"))
}
