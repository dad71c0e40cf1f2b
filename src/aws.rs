//! The AWS clients, made while the function starts: one HTTP client, one TLS stack, one read of the certificates.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// The configuration that both clients share: region, credentials and endpoints from the environment.
pub(crate) async fn config() -> SdkConfig {
    let http =
        aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await
}
