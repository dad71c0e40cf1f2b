//! The endpoint of the ECS agent for task protection.
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::http::uri::Scheme;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::plan::MINUTES;

/// The reason why the task's protection was not changed.
pub(super) type AgentError = Box<dyn std::error::Error + Send + Sync>;

/// Time limit of a call. The agent itself waits four seconds for ECS.
const PATIENCE: Duration = Duration::from_secs(8);

/// Most bytes of an answer, which normally has a few hundred.
const LONGEST_ANSWER: usize = 64 * 1_024;

#[derive(Debug, Clone)]
pub(super) struct Agent {
    uri: Uri,
    /// Host and port.
    address: String,
}

/// The agent's answer, which has one of these fields.
#[derive(Deserialize)]
struct Answer {
    protection: Option<Protected>,
    /// Sent with status 200.
    failure: Option<Refusal>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Protected {
    protection_enabled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Refusal {
    #[serde(alias = "Code")]
    reason: Option<String>,
    #[serde(alias = "Message")]
    detail: Option<String>,
}

impl Agent {
    /// # Errors
    /// `ECS_AGENT_URI` is not an `http` URL with a host.
    pub(super) fn new(uri: &str) -> Result<Self, String> {
        let endpoint = format!("{}/task-protection/v1/state", uri.trim_end_matches('/'));
        let parsed = endpoint.parse::<Uri>().ok().filter(|uri| uri.scheme() == Some(&Scheme::HTTP));
        let address = |uri: &Uri| Some(format!("{}:{}", uri.host()?, uri.port_u16().unwrap_or(80)));
        match parsed.and_then(|uri| Some(Self { address: address(&uri)?, uri })) {
            Some(agent) => Ok(agent),
            None => Err(format!("ECS_AGENT_URI is {uri:?}, allowed: a URL that begins with http://")),
        }
    }

    /// # Errors
    /// The agent refused the call or did not answer it.
    pub(super) async fn set(&self, protects: bool) -> Result<(), AgentError> {
        timeout(PATIENCE, self.put(protects)).await.map_err(|_| format!("no answer in {PATIENCE:?}"))?
    }

    async fn put(&self, protects: bool) -> Result<(), AgentError> {
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
        let stream = TcpStream::connect(&self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let exchange = async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await?.to_bytes();
            Ok::<_, AgentError>((status, body))
        };
        // The connection ends with its only exchange.
        let (status, body) = tokio::select! {
            exchanged = exchange => exchanged?,
            Err(error) = connection => return Err(error.into()),
        };
        read(&body, status, protects)
    }
}

fn read(body: &[u8], status: StatusCode, protects: bool) -> Result<(), AgentError> {
    let not_understood = || format!("the answer has the status {status} and is not understood");
    let answer: Answer = serde_json::from_slice(body).map_err(|_| not_understood())?;
    if let Some(Refusal { reason, detail }) = answer.error.or(answer.failure) {
        return Err([reason, detail].into_iter().flatten().collect::<Vec<_>>().join(": ").into());
    }
    if !status.is_success() {
        return Err(not_understood().into());
    }
    match answer.protection {
        Some(protection) if protection.protection_enabled == protects => Ok(()),
        Some(_) => Err("the answer says the opposite of what was asked for".into()),
        None => Err("the answer does not say whether the task is protected".into()),
    }
}
