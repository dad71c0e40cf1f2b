//! Starts the local SQS in a container, for one test.

use std::error::Error;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Credentials;
use testcontainers::GenericImage;
use testcontainers::core::{IntoContainerPort, WaitFor};
use testcontainers::runners::AsyncRunner;

#[tokio::test]
async fn an_order_is_sent() -> Result<(), Box<dyn Error>> {
    let image = GenericImage::new("ghcr.io/redrive-rs/redrive-local", "latest")
        .with_exposed_port(4566.tcp())
        .with_wait_for(WaitFor::message_on_stdout("endpoint"));
    let container = image.start().await?;
    let endpoint = format!("http://localhost:{}", container.get_host_port_ipv4(4566).await?);

    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"));
    let sqs = Client::new(&config.load().await);
    let url = sqs.create_queue().queue_name("orders").send().await?.queue_url.unwrap_or_default();

    sqs.send_message().queue_url(&url).message_body("tea").send().await?;

    let received = sqs.receive_message().queue_url(&url).send().await?;
    assert_eq!(received.messages()[0].body(), Some("tea"));
    Ok(())
}
