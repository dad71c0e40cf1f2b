//! Clients for a network.
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

/// The SDK keeps an idle connection for so long.
const IDLE: Duration = Duration::from_secs(90);

/// How AWS is reached from here: the proxy and the certificates.
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

    /// A client that closes a connection which is idle for so long (default: 90 s).
    #[must_use]
    pub fn client(&self, idle: Option<Duration>) -> SharedHttpClient {
        let (network, idle) = (self.clone(), idle.unwrap_or(IDLE));
        // The only way to a proxy that keeps the cache of connectors.
        Builder::new().build_with_connector_fn(move |settings, components| {
            let mut builder = Connector::builder().pool_idle_timeout(idle);
            builder.set_connector_settings(settings.cloned());
            builder.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
            network.connector(builder)
        })
    }

    /// Reads the certificates of the machine now. Each client reads them at its first call, and once a process.
    pub fn read_certificates(&self) {
        drop(self.connector(Connector::builder()));
    }

    fn connector(&self, builder: ConnectorBuilder) -> Connector {
        let builder = builder.tls_provider(Provider::Rustls(CryptoMode::Ring));
        builder.proxy_config(self.proxy.clone()).tls_context(self.tls.clone()).build()
    }
}

/// A profile that cannot be read has no bundle: who loads the settings says why.
async fn bundle_of(profile: Option<&str>) -> Option<String> {
    let (files, environment, which) = (Default::default(), Default::default(), Default::default());
    let profile = profile.map(|name| Cow::Owned(name.to_owned()));
    let profiles = load(&files, &environment, &which, profile).await.ok()?;
    profiles.get("ca_bundle").map(str::to_owned)
}
