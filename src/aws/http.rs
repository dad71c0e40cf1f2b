//! redrive's HTTP client: one TLS stack, certificates that are read once, and connections that can be dropped.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use redrive_http::Network;

use super::freeze::{Clocks, IDLE, was_frozen};

/// The pause before certificates are read. By then the function polls. Reading them earlier would delay a cold start by 1 ms.
const STARTED: Duration = Duration::from_millis(10);

/// Creates connectors on demand, and keeps them and their connections until they are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Http(Arc<Mutex<Connections>>);

#[derive(Debug)]
struct Connections {
    network: Network,
    client: SharedHttpClient,
    /// Incremented when all connections are dropped, to tell which ones a call may have used.
    generation: u64,
    called: Option<Clocks>,
}

impl Http {
    /// Creates a client. A separate thread reads the certificates, because most batches do not need them.
    pub(crate) fn new(network: Network) -> Self {
        let certificates = std::thread::Builder::new().name("redrive-tls".to_owned());
        let early = network.clone();
        let _ = certificates.spawn(move || {
            std::thread::sleep(STARTED);
            early.read_certificates();
        });
        let client = network.client(Some(IDLE));
        let connections = Connections { network, client, generation: 0, called: None };
        Self(Arc::new(Mutex::new(connections)))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.with(|connections| connections.generation)
    }

    /// Drops the connections of this generation, unless that has happened already, so that the next call gets a fresh one.
    pub(crate) fn drop_connections(&self, generation: u64) {
        self.with(|connections| {
            if connections.generation == generation {
                connections.renew();
            }
        });
    }

    fn with<T>(&self, look: impl FnOnce(&mut Connections) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Skips the SDK's validation at the start, which would wait for the certificates.
impl HttpClient for Http {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let client = self.with(|connections| {
            let now = Clocks { wall: SystemTime::now(), steady: Instant::now() };
            if connections.called.replace(now).is_some_and(|last| was_frozen(last, now)) {
                connections.renew();
            }
            connections.client.clone()
        });
        client.http_connector(settings, components)
    }
}

impl Connections {
    /// Replaces the connections. Calls in flight keep theirs.
    fn renew(&mut self) {
        self.client = self.network.client(Some(IDLE));
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_fail_together_renew_the_connections_once() {
        let http = Http::new(Network::default());
        let before = http.generation();
        for _ in 0..10 {
            http.drop_connections(before);
        }
        assert_eq!(http.generation(), 1);
        http.drop_connections(http.generation());
        assert_eq!(http.generation(), 2);
    }
}
