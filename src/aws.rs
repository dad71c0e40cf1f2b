//! The AWS clients, made while the function starts: one HTTP client, one TLS stack, one read of the certificates.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// The configuration that both clients share: region, credentials and endpoints from the environment.
pub(crate) async fn config() -> SdkConfig {
    // What is built here is dropped; the certificates that it has read stay for those that are built when called for.
    // Most batches need none, so nobody waits.
    let certificates = std::thread::Builder::new().name("redrive-tls".to_owned());
    let _ = certificates.spawn(|| drop(Connector::builder().tls_provider(provider()).build()));
    let http = aws_smithy_http_client::Builder::new().tls_provider(provider()).build_https();
    aws_config::defaults(BehaviorVersion::latest()).http_client(WhenCalled(http)).load().await
}

const fn provider() -> Provider {
    Provider::Rustls(CryptoMode::Ring)
}

/// Without the check at the start, which would wait for the certificates.
#[derive(Debug)]
struct WhenCalled(SharedHttpClient);

impl HttpClient for WhenCalled {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        self.0.http_connector(settings, components)
    }
}
