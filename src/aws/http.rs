//! redrive's HTTP client: one TLS stack, certificates that are read once, and connections that can be dropped.
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// How long a connection may be idle. AWS does not say how long SQS keeps connections open; S3 closes them after seconds.
/// A new connection costs milliseconds, a dead one costs a try.
const IDLE: Duration = Duration::from_secs(15);

/// By how much the two clocks may differ without a freeze.
const AWAKE: Duration = Duration::from_secs(1);

/// By then the function polls. Reading the certificates earlier would make the cold start a millisecond longer.
const STARTED: Duration = Duration::from_millis(10);

/// Creates connectors on demand, and keeps them and their connections until they are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Http(Arc<Mutex<Connections>>);

#[derive(Debug)]
struct Connections {
    client: SharedHttpClient,
    /// Incremented when all connections are dropped, to tell which ones a call may have used.
    generation: u64,
    called: Option<Clocks>,
}

impl Http {
    /// The certificates are read on a separate thread, since most batches do not need them.
    pub(crate) fn new() -> Self {
        let certificates = std::thread::Builder::new().name("redrive-tls".to_owned());
        let _ = certificates.spawn(|| {
            std::thread::sleep(STARTED);
            // This connector is dropped, but later connectors use the certificates that it has read.
            drop(Connector::builder().tls_provider(provider()).build());
        });
        let connections = Connections { client: client(), generation: 0, called: None };
        Self(Arc::new(Mutex::new(connections)))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.with(|connections| connections.generation)
    }

    /// Drops the connections of this generation, unless that was done since, so that the next call gets a fresh one.
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

/// Without the validation at the start, which would wait for the certificates.
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
    /// Calls in flight keep their connections.
    fn renew(&mut self) {
        self.client = client();
        self.generation += 1;
    }
}

fn client() -> SharedHttpClient {
    let client = aws_smithy_http_client::Builder::new().pool_idle_timeout(IDLE);
    client.tls_provider(provider()).build_https()
}

const fn provider() -> Provider {
    Provider::Rustls(CryptoMode::Ring)
}

/// The same moment on both clocks.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    wall: SystemTime,
    /// May stand still while Lambda freezes the sandbox.
    steady: Instant,
}

/// Whether connections may have died unnoticed between two calls: the sandbox was frozen, or the connections were idle for
/// long.
fn was_frozen(last: Clocks, now: Clocks) -> bool {
    let steady = now.steady.saturating_duration_since(last.steady);
    let apart = match now.wall.duration_since(last.wall) {
        Ok(wall) => wall.abs_diff(steady),
        Err(set_back) => steady + set_back.duration(),
    };
    steady > IDLE || apart > AWAKE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_outlive_neither_a_freeze_nor_a_long_pause() {
        let (wall, steady) = (SystemTime::now(), Instant::now());
        let last = Clocks { wall, steady };
        for (wall_ms, steady_ms, expected) in [
            (0, 0, false),
            (5, 5, false),
            (10_000, 10_000, false),
            (15_000, 15_000, false),
            // Corrected while it ran.
            (10_900, 10_000, false),
            (9_100, 10_000, false),
            // Frozen, and the steady clock stood still.
            (11_500, 10_000, true),
            (300_000, 5, true),
            // Frozen, and it did not.
            (300_000, 300_000, true),
            (16_000, 16_000, true),
            // Set back.
            (2_000, 10_000, true),
            (-5_000, 5, true),
            (-100, 5, false),
        ] {
            let apart = Duration::from_millis(i64::unsigned_abs(wall_ms));
            let wall = if wall_ms < 0 { wall - apart } else { wall + apart };
            let now = Clocks { wall, steady: steady + Duration::from_millis(steady_ms) };
            assert_eq!(was_frozen(last, now), expected, "{wall_ms} ms and {steady_ms} ms later");
        }
    }

    #[test]
    fn of_many_calls_that_failed_together_one_renews_the_connections() {
        let http = Http::new();
        let before = http.generation();
        for _ in 0..10 {
            http.drop_connections(before);
        }
        assert_eq!(http.generation(), 1);
        http.drop_connections(http.generation());
        assert_eq!(http.generation(), 2);
    }
}
