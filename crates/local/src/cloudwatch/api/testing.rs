//! What the tests of the operations share.

use super::SERVICE;
use crate::cloudwatch::CloudWatch;
use crate::protocol::testing::Client;

/// A CloudWatch without metrics and alarms.
pub(super) fn client() -> Client<CloudWatch> {
    Client::new(&SERVICE, CloudWatch::new("eu-west-1", "123456789012"))
}
