//! HTTP clients with the proxy and the certificates of a network.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the environment")]

use std::borrow::Cow;
use std::time::Duration;

use aws_config::profile::load;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{Provider, TlsContext, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, Connector, ConnectorBuilder};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

use crate::variables::{NetworkError, certificates, proxy};

/// Time for which the SDK keeps an idle connection.
const IDLE: Duration = Duration::from_secs(90);

/// The proxy and the certificates by which this machine reaches AWS.
#[derive(Debug, Clone)]
pub struct Network {
    proxy: ProxyConfig,
    tls: TlsContext,
}

/// Without a proxy, with the certificates of the machine.
impl Default for Network {
    fn default() -> Self {
        Self { proxy: ProxyConfig::disabled(), tls: TlsContext::default() }
    }
}

impl Network {
    /// Reads `HTTPS_PROXY` (or `ALL_PROXY`) and `NO_PROXY`, in capitals or not, and the certificates of `AWS_CA_BUNDLE`,
    /// else of `ca_bundle` in this profile (default: the one of the environment). Without a bundle, the certificates of
    /// the machine are used.
    ///
    /// # Errors
    /// The proxy has no URL of HTTP, or the file of certificates cannot be used.
    pub async fn of_environment(profile: Option<&str>) -> Result<Self, NetworkError> {
        let variable = |name: &str| std::env::var(name).ok();
        let proxy = proxy(variable)?;
        let of_variable = variable("AWS_CA_BUNDLE");
        let of_profile = match of_variable {
            Some(_) => None,
            None => bundle_of(profile).await,
        };
        Ok(Self { proxy, tls: certificates(of_variable, of_profile)? })
    }

    /// The network of the environment. If it cannot be used, logs why and returns the default, for callers without an error.
    pub async fn of_environment_or_default() -> Self {
        Self::of_environment(None).await.unwrap_or_else(|error| {
            tracing::error!("{error}");
            Self::default()
        })
    }

    /// Returns a client that closes a connection after this idle time (default: 90 s).
    #[must_use]
    pub fn client(&self, idle: Option<Duration>) -> SharedHttpClient {
        let (network, idle) = (self.clone(), idle.unwrap_or(IDLE));
        // Only this function supports a proxy and keeps the cache of connectors.
        Builder::new().build_with_connector_fn(move |settings, components| {
            let mut builder = Connector::builder().pool_idle_timeout(idle);
            builder.set_connector_settings(settings.cloned());
            builder.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
            network.connector(builder)
        })
    }

    /// Reads the certificates of the machine now. Otherwise, the first call of a client reads them, once per process.
    pub fn read_certificates(&self) {
        drop(self.connector(Connector::builder()));
    }

    fn connector(&self, builder: ConnectorBuilder) -> Connector {
        let builder = builder.tls_provider(Provider::Rustls(CryptoMode::Ring));
        builder.proxy_config(self.proxy.clone()).tls_context(self.tls.clone()).build()
    }
}

/// Returns the bundle of a profile. A profile that cannot be read has none: the code that loads the settings reports why.
async fn bundle_of(profile: Option<&str>) -> Option<String> {
    let (files, environment, which) = (Default::default(), Default::default(), Default::default());
    let profile = profile.map(|name| Cow::Owned(name.to_owned()));
    let profiles = load(&files, &environment, &which, profile).await.ok()?;
    profiles.get("ca_bundle").map(str::to_owned)
}
