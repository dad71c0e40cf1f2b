//! Clients with the TLS of redrive.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_sqs::Client;
use redrive_http::Network;

const CONNECT: Duration = Duration::from_secs(2);

/// Returns a client with the region, credentials and endpoint of the environment. On Lambda, that is the function's.
///
/// It waits 2 s for a connection. You can pass your own client to a [`Sender`](crate::Sender) instead.
pub async fn client() -> Client {
    Client::new(&config().await)
}

/// Returns a client of EventBridge Scheduler for [`Schedules`](crate::Schedules), made like that of [`client`].
#[cfg(feature = "schedules")]
pub async fn scheduler_client() -> aws_sdk_scheduler::Client {
    aws_sdk_scheduler::Client::new(&config().await)
}

async fn config() -> SdkConfig {
    let network = Network::of_environment_or_default().await;
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT).build();
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(network.client(None))
        .timeout_config(timeouts);
    config.load().await
}
