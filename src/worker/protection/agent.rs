//! The endpoint of the ECS agent for task protection.
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::http::uri::Scheme;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::plan::MINUTES;
use crate::BoxError;

/// The agent waits four seconds for ECS.
const PATIENCE: Duration = Duration::from_secs(8);

/// An answer is a few hundred bytes.
const LONGEST_ANSWER: usize = 64 * 1_024;

#[derive(Debug, Clone)]
pub(super) struct Agent {
    uri: Uri,
    host: String,
    port: u16,
}

/// One of the three is there.
#[derive(Deserialize)]
struct Answer {
    protection: Option<Protected>,
    failure: Option<Failure>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Protected {
    protection_enabled: bool,
}

/// Comes with status 200.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    reason: Option<String>,
    detail: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Refusal {
    code: Option<String>,
    message: Option<String>,
}

impl Agent {
    /// # Errors
    /// `ECS_AGENT_URI` is not an `http` URL with a host.
    pub(super) fn new(uri: &str) -> Result<Self, String> {
        let endpoint = format!("{}/task-protection/v1/state", uri.trim_end_matches('/'));
        let parsed = endpoint.parse::<Uri>().ok().filter(|uri| uri.scheme() == Some(&Scheme::HTTP));
        let host = parsed.as_ref().and_then(|uri| uri.host()).map(str::to_owned);
        let (Some(uri), Some(host)) = (parsed, host) else {
            return Err(format!("ECS_AGENT_URI is {uri:?}, allowed: a URL that begins with http://"));
        };
        let port = uri.port_u16().unwrap_or(80);
        Ok(Self { uri, host, port })
    }

    /// # Errors
    /// What the agent refused, or why there is no answer.
    pub(super) async fn set(&self, protects: bool) -> Result<(), BoxError> {
        timeout(PATIENCE, self.put(protects)).await.map_err(|_| format!("no answer in {PATIENCE:?}"))?
    }

    async fn put(&self, protects: bool) -> Result<(), BoxError> {
        let body = if protects {
            format!(r#"{{"ProtectionEnabled":true,"ExpiresInMinutes":{MINUTES}}}"#)
        } else {
            r#"{"ProtectionEnabled":false}"#.to_owned()
        };
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        let request = Request::put(self.uri.path())
            .header(HOST, authority)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))?;
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, self.port)).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let exchange = async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await?.to_bytes();
            Ok::<_, BoxError>((status, body))
        };
        // The connection ends with what it carries.
        let (status, body) = tokio::select! {
            exchanged = exchange => exchanged?,
            Err(error) = connection => return Err(error.into()),
        };
        match serde_json::from_slice(&body) {
            Ok(answer) if status.is_success() || is_refusal(&answer) => read(answer, protects),
            _ => Err(format!("the answer has the status {status} and is not understood").into()),
        }
    }
}

fn is_refusal(answer: &Answer) -> bool {
    answer.error.is_some() || answer.failure.is_some()
}

fn read(answer: Answer, protects: bool) -> Result<(), BoxError> {
    let said = |what: Option<String>, more: Option<String>| {
        [what, more].into_iter().flatten().collect::<Vec<_>>().join(": ")
    };
    if let Some(refusal) = answer.error {
        return Err(said(refusal.code, refusal.message).into());
    }
    if let Some(failure) = answer.failure {
        return Err(said(failure.reason, failure.detail).into());
    }
    match answer.protection {
        Some(protection) if protection.protection_enabled == protects => Ok(()),
        Some(_) => Err("the answer says the opposite of what was asked for".into()),
        None => Err("the answer does not say whether the task is protected".into()),
    }
}
