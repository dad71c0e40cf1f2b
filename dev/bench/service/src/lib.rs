//! The orders of both consumers, and the HTTP service that handlers ask.
#![allow(clippy::disallowed_methods, reason = "it reads its URL from the environment")]

use std::error::Error;

use http::Uri;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;

/// The contents of a body.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "decoding the fields is the work")]
pub struct Order {
    order_id: String,
    /// True if the handler should fail.
    pub fail: bool,
    amount_cents: u64,
    currency: String,
    items: Vec<Item>,
}

#[derive(Deserialize, Debug)]
#[expect(dead_code, reason = "decoding the fields is the work")]
struct Item {
    sku: String,
    qty: u32,
}

/// A client of the service. A process needs one, which keeps its connections and uses them again.
#[derive(Debug)]
pub struct Service {
    client: Client<HttpConnector, String>,
    url: Uri,
}

impl Service {
    /// Creates a client of the service at `SERVICE_URL`.
    ///
    /// # Errors
    /// The variable is not set, or is not a URL.
    pub fn from_env() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let url = std::env::var("SERVICE_URL").map_err(|error| format!("SERVICE_URL: {error}"))?.parse()?;
        Ok(Self { client: Client::builder(TokioExecutor::new()).build_http(), url })
    }

    /// Calls the service once, and reads the whole answer.
    ///
    /// # Errors
    /// The service does not answer, or answers with an error.
    pub async fn ask(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let answer = self.client.get(self.url.clone()).await?;
        if !answer.status().is_success() {
            return Err(format!("the service says {}", answer.status()).into());
        }
        answer.into_body().collect().await?;
        Ok(())
    }
}
