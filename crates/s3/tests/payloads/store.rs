//! An S3 on loopback that answers `GetObject` by the key. `dev/emulators/test_payloads.py` uses the S3 of emulators.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use aws_smithy_http_client::Builder;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, Uri};

/// Paths of the requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Returns the answer for a key. By default, the object's content is its key.
fn answer(key: &str) -> Response<Body> {
    let error = |status: StatusCode, code: &str| {
        let text =
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>as told</Message></Error>");
        Response::builder().status(status).body(Body::from(text)).unwrap()
    };
    match key {
        "missing" => error(StatusCode::NOT_FOUND, "NoSuchKey"),
        "no-bucket" => error(StatusCode::NOT_FOUND, "NoSuchBucket"),
        "denied" => error(StatusCode::FORBIDDEN, "AccessDenied"),
        "throttled" => error(StatusCode::SERVICE_UNAVAILABLE, "SlowDown"),
        "not-of-aws" => {
            Response::builder().status(StatusCode::BAD_GATEWAY).body(Body::from("<html>")).unwrap()
        }
        "moved" => Response::builder()
            .status(StatusCode::MOVED_PERMANENTLY)
            .header("location", "http://127.0.0.1/secrets/moved")
            .body(Body::empty())
            .unwrap(),
        "bytes" => Response::new(Body::from(vec![0xff, 0xfe])),
        "torn" => {
            let parts = [Ok(Bytes::from_static(b"\"begun")), Err(std::io::Error::other("torn"))];
            Response::new(Body::from_stream(futures_util::stream::iter(parts)))
        }
        "wrong-checksum" => Response::builder()
            .header("x-amz-checksum-crc32", "AAAAAA==")
            .body(Body::from("\"changed on its way\""))
            .unwrap(),
        // Without a Content-Length.
        "endless" => Response::new(Body::from_stream(endless())),
        _ => Response::new(Body::from(format!("\"{key}\""))),
    }
}

fn endless() -> impl futures_util::Stream<Item = std::io::Result<Bytes>> + Send {
    futures_util::stream::repeat_with(|| Ok(Bytes::from_static(&[b'x'; 1_000])))
}

/// Returns a client of an S3 that listens until the test ends.
pub(crate) async fn store() -> (Client, Asked) {
    store_at("127.0.0.1").await
}

/// Does the same with this host name. If it is not an address, buckets are subdomains.
pub(crate) async fn store_at(host: &str) -> (Client, Asked) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
    let noted = asked.clone();
    let answer = async move |uri: Uri| {
        noted.0.lock().unwrap().push(uri.path().to_owned());
        let key = uri.path().rsplit('/').next().unwrap_or_default();
        if key == "hangs" {
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        answer(key)
    };
    let router = Router::new().fallback(answer);
    tokio::spawn(async { axum::serve(listener, router).await });
    (client_of(format!("http://{host}:{port}")), asked)
}

/// Returns a client of the S3 at this URL.
pub(crate) fn client_of(url: String) -> Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("id", "secret", None, None, "test"))
        .endpoint_url(url)
        .http_client(Builder::new().build_http())
        .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)));
    Client::from_conf(config.build())
}
