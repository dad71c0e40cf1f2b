//! The real SQS client over a real socket.

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};

pub(crate) fn sqs(endpoint_url: &str) -> aws_sdk_sqs::Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint_url)
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    aws_sdk_sqs::Client::from_conf(config.build())
}
