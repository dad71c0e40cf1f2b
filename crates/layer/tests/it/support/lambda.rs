//! A Runtime API that sends the events of a test, and keeps the requests that it receives.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::PATIENCE;

pub(crate) const ARN: &str = "arn:aws:lambda:eu-west-1:123456789012:function:orders:live";
pub(crate) const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1";

/// A process behind the Runtime API.
pub(crate) struct Function {
    child: Child,
    offers: UnboundedSender<(HeaderMap, Vec<u8>)>,
    requests: UnboundedReceiver<RuntimeRequest>,
    written: [JoinHandle<String>; 2],
    _server: JoinSet<()>,
}

/// A request of the function, other than for work.
#[derive(Debug)]
pub(crate) struct RuntimeRequest {
    /// Path below `/2018-06-01/runtime/`, or the whole path.
    pub(crate) path: String,
    /// Headers and trailers.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl RuntimeRequest {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

struct Exchange {
    offers: Mutex<UnboundedReceiver<(HeaderMap, Vec<u8>)>>,
    requests: UnboundedSender<RuntimeRequest>,
}

impl Function {
    /// Starts a command with the environment of a function, an AWS endpoint where nothing listens, and these variables.
    pub(crate) async fn start(command: &[String], folder: &Path, variables: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let ((offers, offered), (sender, requests)) = (unbounded_channel(), unbounded_channel());
        let exchange = Arc::new(Exchange { offers: Mutex::new(offered), requests: sender });
        let mut server = JoinSet::new();
        let routes = Router::new().fallback(answer).with_state(exchange);
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let mut environment: BTreeMap<_, _> = [
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_LAMBDA_FUNCTION_NAME", "orders"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/orders"),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "2026/11/26/[$LATEST]1"),
            ("AWS_LAMBDA_RUNTIME_API", address.as_str()),
            ("AWS_REGION", "eu-west-1"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("LAMBDA_TASK_ROOT", folder.to_str().unwrap()),
            ("REDRIVE_METRICS", "off"),
            ("_HANDLER", "app.handler"),
        ]
        .into();
        environment.extend(variables.iter().copied());
        let inherited = ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"];
        let inherited = inherited.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
        let mut child = Command::new(env!("CARGO_BIN_EXE_redrive-layer"))
            .args(command)
            .current_dir(folder)
            .env_clear()
            .envs(inherited)
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let written = [
            tokio::spawn(read(child.stdout.take().unwrap())),
            tokio::spawn(read(child.stderr.take().unwrap())),
        ];
        Self { child, offers, requests, written, _server: server }
    }

    /// Hands over an event with this much time left, and these headers besides Lambda's.
    pub(crate) fn offer(&self, id: &str, event: &[u8], left: Duration, headers: &[(&'static str, &str)]) {
        let deadline = (SystemTime::now() + left).duration_since(UNIX_EPOCH).unwrap().as_millis().to_string();
        let own = [
            ("content-type", "application/json"),
            ("lambda-runtime-aws-request-id", id),
            ("lambda-runtime-deadline-ms", &deadline),
            ("lambda-runtime-invoked-function-arn", ARN),
            ("lambda-runtime-trace-id", TRACE),
        ];
        let mut all = HeaderMap::new();
        for (name, value) in own.iter().chain(headers) {
            all.insert(*name, value.parse().unwrap());
        }
        self.offers.send((all, event.to_vec())).unwrap();
    }

    /// Returns the function's next request.
    pub(crate) async fn next_request(&mut self) -> RuntimeRequest {
        match timeout(PATIENCE, self.requests.recv()).await {
            Ok(request) => request.unwrap(),
            Err(_) => {
                let _ = self.child.start_kill();
                for written in &mut self.written {
                    eprintln!("{:?}", timeout(Duration::from_secs(1), written).await);
                }
                panic!("the function says nothing")
            }
        }
    }

    /// Hands over an event that may take 30 s, and returns the response.
    pub(crate) async fn respond(&mut self, event: impl ToString) -> Value {
        self.offer("request", event.to_string().as_bytes(), Duration::from_secs(30), &[]);
        let request = self.next_request().await;
        assert_eq!(request.path, "invocation/request/response", "{request:?}");
        request.json()
    }

    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Waits for the process to end by itself. Returns its exit code, stdout and stderr.
    pub(crate) async fn exit(mut self) -> (Option<i32>, String, String) {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap();
        let [stdout, stderr] = self.written;
        (status.code(), stdout.await.unwrap(), stderr.await.unwrap())
    }
}

async fn answer(State(exchange): State<Arc<Exchange>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let path = path.strip_prefix("/2018-06-01/runtime/").unwrap_or(path).to_owned();
    if (&parts.method, path.as_str()) == (&Method::GET, "invocation/next") {
        let Some((headers, event)) = exchange.offers.lock().await.recv().await else {
            return Response::builder().status(StatusCode::GONE).body(Body::empty()).unwrap();
        };
        let mut response = Response::new(Body::from(event));
        *response.headers_mut() = headers;
        return response;
    }
    let body = body.collect().await.unwrap();
    let mut headers = parts.headers;
    headers.extend(body.trailers().cloned().unwrap_or_default());
    let body = body.to_bytes().to_vec();
    let status = if parts.method == Method::GET { StatusCode::OK } else { StatusCode::ACCEPTED };
    // The test may have seen enough.
    let _ = exchange.requests.send(RuntimeRequest { path, headers, body });
    Response::builder().status(status).body(Body::from("{\"status\":\"OK\"}")).unwrap()
}

async fn read(mut stream: impl AsyncRead + Unpin) -> String {
    let mut written = Vec::new();
    stream.read_to_end(&mut written).await.unwrap();
    String::from_utf8(written).unwrap()
}
