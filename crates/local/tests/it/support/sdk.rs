//! Real clients of AWS, pointed at a shop.

use aws_sdk_lambda::config::{BehaviorVersion, Credentials, Region};
use redrive_local::Local;

/// Builds a client. The clients have different builders with the same methods.
macro_rules! client {
    ($service:ident, $local:expr) => {
        $service::Client::from_conf(
            $service::Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .region(Region::new("eu-west-1"))
                .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
                .http_client(aws_smithy_http_client::Builder::new().build_http())
                .endpoint_url($local.endpoint_url())
                .build(),
        )
    };
}

pub(crate) fn lambda(local: &Local) -> aws_sdk_lambda::Client {
    client!(aws_sdk_lambda, local)
}

pub(crate) fn sqs(local: &Local) -> aws_sdk_sqs::Client {
    client!(aws_sdk_sqs, local)
}

pub(crate) fn logs(local: &Local) -> aws_sdk_cloudwatchlogs::Client {
    client!(aws_sdk_cloudwatchlogs, local)
}

pub(crate) fn cloudformation(local: &Local) -> aws_sdk_cloudformation::Client {
    client!(aws_sdk_cloudformation, local)
}
