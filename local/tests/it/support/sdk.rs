//! Real clients of AWS, pointed at a shop.

use aws_sdk_lambda::config::{BehaviorVersion, Credentials, Region, SharedHttpClient};
use redrive_local::Local;

fn http() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_http()
}

fn credentials() -> Credentials {
    Credentials::new("local", "local", None, None, "tests")
}

pub(crate) fn lambda(local: &Local) -> aws_sdk_lambda::Client {
    let config = aws_sdk_lambda::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(credentials())
        .http_client(http())
        .endpoint_url(local.endpoint_url());
    aws_sdk_lambda::Client::from_conf(config.build())
}
