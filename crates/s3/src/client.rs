//! A client of S3 with the TLS of redrive.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use redrive_http::Network;

const CONNECT: Duration = Duration::from_secs(2);
const FIRST_BYTE: Duration = Duration::from_secs(5);

/// Returns a client with the region, credentials and endpoint of the environment. On Lambda, that is the function's.
///
/// It waits 2 s for a connection and 5 s for the first byte of an answer, and tries a call up to three times. You can pass
/// your own client instead, with its own connections, retries and timeouts.
pub async fn client() -> Client {
    let network = Network::of_environment_or_default().await;
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT).read_timeout(FIRST_BYTE).build();
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(network.client(None))
        .timeout_config(timeouts);
    Client::new(&config.load().await)
}
