//! A real process of a function, under a Runtime API that a test scripts.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{self, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Longer than anything here takes on the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// The demo function, unknown to the tests of other packages that have this file too.
pub(crate) const ORDERS: &str = match option_env!("CARGO_BIN_EXE_orders") {
    Some(path) => path,
    None => "",
};

/// An example, which `cargo test` builds beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().with_file_name("examples").join(name);
    assert!(path.exists(), "the example {name} is not built yet: run `make test`, or cargo build --examples");
    path
}

/// What Lambda sets, an AWS endpoint where nothing listens, and these variables.
pub(crate) fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let lambda = [
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
        ("AWS_LAMBDA_FUNCTION_NAME", "orders"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9"),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("REDRIVE_METRICS", "off"),
    ];
    let inherited = ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"];
    let inherited =
        inherited.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    inherited.chain(lambda.iter().chain(variables).map(owned)).collect()
}

/// A process with this environment and nothing else, killed when dropped.
pub(crate) fn command(path: &Path, environment: &BTreeMap<String, String>) -> Command {
    let mut command = Command::new(path);
    command.env_clear().envs(environment).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

#[derive(Debug)]
pub(crate) struct Function {
    child: Child,
    offers: UnboundedSender<Offer>,
    answers: UnboundedReceiver<Answer>,
    exchange: Arc<Exchange>,
    written: [tokio::task::JoinHandle<String>; 2],
    _server: JoinSet<()>,
}

#[derive(Debug)]
struct Offer {
    request_id: String,
    deadline_ms: u128,
    /// Beside those of all invocations, or in place of one.
    header: Option<(&'static str, String)>,
    event: String,
}

/// The response that names these messages and no others, as Lambda's documentation writes it.
pub(crate) fn response<I: Display>(failed: impl IntoIterator<Item = I>) -> String {
    let items: Vec<_> = failed.into_iter().map(|id| format!("{{\"itemIdentifier\":\"{id}\"}}")).collect();
    format!("{{\"batchItemFailures\":[{}]}}", items.join(","))
}

/// The trace header of an invocation.
pub(crate) fn trace_id(request_id: &str) -> String {
    format!("Root=1-5759e988-{request_id};Sampled=1")
}

/// What the function said about an invocation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) request_id: String,
    /// `response` or `error`.
    pub(crate) kind: String,
    pub(crate) body: String,
}

#[derive(Debug)]
struct Exchange {
    offers: Mutex<UnboundedReceiver<Offer>>,
    /// Polls that have had no offer.
    waiting: AtomicUsize,
    answers: UnboundedSender<Answer>,
}

impl Function {
    pub(crate) async fn start(path: impl AsRef<Path>, variables: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut environment = environment(variables);
        environment.insert("AWS_LAMBDA_RUNTIME_API".to_owned(), address);
        let (offers, offered) = unbounded_channel();
        let (answering, answers) = unbounded_channel();
        let offers_left = Mutex::new(offered);
        let exchange =
            Arc::new(Exchange { offers: offers_left, waiting: AtomicUsize::new(0), answers: answering });
        let routes = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{request_id}/{kind}", post(answer))
            .with_state(Arc::clone(&exchange));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let mut child = command(path.as_ref(), &environment).spawn().unwrap();
        let written = [
            tokio::spawn(read(child.stdout.take().unwrap())),
            tokio::spawn(read(child.stderr.take().unwrap())),
        ];
        Self { child, offers, answers, exchange, written, _server: server }
    }

    /// Hands over an event, to be answered within so much time.
    pub(crate) fn offer(&self, request_id: &str, event: impl ToString, left: Duration) {
        let deadline = SystemTime::now() + left;
        self.offer_until(request_id, event, deadline.duration_since(UNIX_EPOCH).unwrap().as_millis());
    }

    /// Hands over an event with whatever deadline, in milliseconds since the epoch.
    #[expect(clippy::needless_pass_by_value, reason = "callers make it on the spot")]
    pub(crate) fn offer_until(&self, request_id: &str, event: impl ToString, deadline_ms: u128) {
        let (request_id, event) = (request_id.to_owned(), event.to_string());
        self.offers.send(Offer { request_id, deadline_ms, header: None, event }).unwrap();
    }

    /// The response to an event that may take 30 s and comes with this header.
    pub(crate) async fn respond_with(
        &mut self,
        header: Option<(&'static str, String)>,
        event: impl ToString,
    ) -> String {
        let deadline = SystemTime::now() + Duration::from_secs(30);
        let deadline_ms = deadline.duration_since(UNIX_EPOCH).unwrap().as_millis();
        let (request_id, event) = ("request".to_owned(), event.to_string());
        self.offers.send(Offer { request_id, deadline_ms, header, event }).unwrap();
        self.answer().await.body
    }

    /// The next answer to any of the offers.
    pub(crate) async fn answer(&mut self) -> Answer {
        timeout(PATIENCE, self.answers.recv()).await.expect("the function answers").unwrap()
    }

    /// The response to an event that may take 30 s.
    pub(crate) async fn respond(&mut self, event: impl ToString) -> String {
        self.offer("request", event, Duration::from_secs(30));
        let answer = self.answer().await;
        assert_eq!((answer.request_id.as_str(), answer.kind.as_str()), ("request", "response"), "{answer:?}");
        answer.body
    }

    /// Waits for the process to end by itself, and asserts that it has not polled after its last answers; its exit
    /// code, and what it has written to stderr.
    pub(crate) async fn exit(self) -> (Option<i32>, String) {
        let exchange = Arc::clone(&self.exchange);
        let ended = self.end_by_itself().await;
        assert_eq!(exchange.waiting.load(Ordering::SeqCst), 0, "it asks for no batch that it cannot handle");
        ended
    }

    /// Waits for the process to end by itself; its exit code, and what it has written to stderr.
    pub(crate) async fn end_by_itself(mut self) -> (Option<i32>, String) {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap();
        let [_, stderr] = self.written;
        (status.code(), stderr.await.unwrap())
    }

    /// Ends the process; what it has written to stdout and to stderr.
    pub(crate) async fn end(mut self) -> (String, String) {
        self.child.kill().await.unwrap();
        let [stdout, stderr] = self.written;
        (stdout.await.unwrap(), stderr.await.unwrap())
    }
}

async fn next(State(exchange): State<Arc<Exchange>>) -> Response {
    exchange.waiting.fetch_add(1, Ordering::SeqCst);
    let Some(offer) = exchange.offers.lock().await.recv().await else {
        return Response::builder().status(StatusCode::INTERNAL_SERVER_ERROR).body(Body::empty()).unwrap();
    };
    exchange.waiting.fetch_sub(1, Ordering::SeqCst);
    let mut response = Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-trace-id", trace_id(&offer.request_id))
        .header("lambda-runtime-aws-request-id", offer.request_id)
        .header("lambda-runtime-deadline-ms", offer.deadline_ms.to_string())
        .header(
            "lambda-runtime-invoked-function-arn",
            "arn:aws:lambda:eu-west-1:123456789012:function:orders",
        );
    if let Some((name, value)) = offer.header {
        response.headers_mut().unwrap().insert(name, value.parse().unwrap());
    }
    response.body(Body::from(offer.event)).unwrap()
}

async fn answer(
    State(exchange): State<Arc<Exchange>>,
    extract::Path((request_id, kind)): extract::Path<(String, String)>,
    body: String,
) -> StatusCode {
    // The test may have seen enough.
    let _ = exchange.answers.send(Answer { request_id, kind, body });
    StatusCode::ACCEPTED
}

async fn read(mut stream: impl AsyncRead + Unpin) -> String {
    let mut written = Vec::new();
    stream.read_to_end(&mut written).await.unwrap();
    String::from_utf8(written).unwrap()
}
