//! A client of DynamoDB with the TLS of redrive.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use redrive_http::Network;

const CONNECT: Duration = Duration::from_secs(1);
const FIRST_BYTE: Duration = Duration::from_millis(1_500);
/// Time limit of a call. redrive gives up on a record later, so that the error says what happened. A lease of tokens is tried
/// once, for 2.5 s.
const OPERATION: Duration = Duration::from_millis(4_500);
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Returns a client with the region, credentials and endpoint of the environment. On Lambda, that is the function's.
///
/// It waits 1 s for a connection and 1.5 s for the first byte of an answer. It tries a call up to three times, for 4.5 s in all.
/// Only a lease of [tokens](crate::DynamoDb::tokens) is not tried again.
///
/// You can pass your own client instead. redrive waits 5 s for an answer about a record, and 3 s for a lease of tokens. Let your
/// client give up sooner.
pub async fn client() -> Client {
    let network = Network::of_environment_or_default().await;
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .read_timeout(FIRST_BYTE)
        .operation_timeout(OPERATION)
        .build();
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(network.client(None))
        .retry_config(RetryConfig::standard().with_initial_backoff(FIRST_PAUSE))
        .timeout_config(timeouts);
    Client::new(&config.load().await)
}
