//! The example, as a process under the Runtime API, and a collector that it exports to.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

#[path = "../../../../tests/it/support/function.rs"]
#[allow(dead_code, reason = "the tests of redrive use the rest")]
mod function;

use function::{Function, PATIENCE, example};

/// Data that an OTLP receiver has received.
#[derive(Debug, Default)]
struct Received {
    spans: Mutex<Vec<Span>>,
    metrics: Mutex<BTreeSet<String>>,
    requests: AtomicUsize,
    hangs: AtomicBool,
}

impl Received {
    async fn answered(&self) -> impl IntoResponse + use<> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending().await
        }
        // An empty message is a success.
        [(CONTENT_TYPE, "application/x-protobuf")]
    }
}

async fn spans(State(received): State<Arc<Received>>, body: Bytes) -> impl IntoResponse {
    let answer = received.answered().await;
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    received.spans.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
    answer
}

async fn metrics(State(received): State<Arc<Received>>, body: Bytes) -> impl IntoResponse {
    let answer = received.answered().await;
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
    let names = scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name);
    received.metrics.lock().unwrap().extend(names);
    answer
}

/// Starts a receiver on loopback. Returns its data, its address, and the task that serves it.
async fn collector() -> (Arc<Received>, String, JoinSet<()>) {
    let received = Arc::new(Received::default());
    let routes = Router::new()
        .route("/v1/traces", post(spans))
        .route("/v1/metrics", post(metrics))
        .with_state(Arc::clone(&received));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (received, endpoint, server)
}

fn event(bodies: &[u32]) -> Value {
    let record = |(at, body): (usize, &u32)| {
        json!({
            "messageId": format!("m{at}"),
            "receiptHandle": "handle",
            "body": body.to_string(),
            "attributes": { "ApproximateReceiveCount": "1" },
            "messageAttributes": {
                "traceparent": {
                    "dataType": "String",
                    "stringValue": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                },
            },
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
        })
    };
    json!({ "Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>() })
}

#[tokio::test]
async fn a_collector_has_the_spans_and_metrics_of_a_batch_when_its_answer_comes() {
    let (received, endpoint, _server) = collector().await;
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_SERVICE_NAME", "orders")];
    let mut function = Function::start(example("otlp"), &variables).await;
    let answer = function.respond(event(&[0, 0, 1])).await;
    assert_eq!(answer, function::response(["m2"]));

    let spans = received.spans.lock().unwrap().clone();
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let (processes, charges) = (named("process orders"), named("charge"));
    assert_eq!((processes.len(), charges.len()), (3, 3), "{spans:?}");
    for process in &processes {
        assert_eq!(process.kind(), SpanKind::Consumer);
        assert_eq!((process.parent_span_id.len(), process.links.len()), (0, 1));
        let sender = &process.links[0];
        assert_eq!(sender.span_id, [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
        let below = charges.iter().filter(|charge| charge.parent_span_id == process.span_id);
        assert_eq!(below.count(), 1);
        let attributes: Vec<_> = process.attributes.iter().map(|it| it.key.as_str()).collect();
        assert!(attributes.contains(&"faas.invocation_id"), "{attributes:?}");
    }
    let codes = processes.iter().map(|process| process.status.as_ref().unwrap().code());
    assert_eq!(codes.filter(|code| *code == StatusCode::Error).count(), 1);
    let metrics = received.metrics.lock().unwrap().clone();
    let expected = ["messaging.client.consumed.messages", "messaging.process.duration"];
    assert!(expected.iter().all(|name| metrics.contains(*name)), "{metrics:?}");
    function.end().await;
}

#[tokio::test]
async fn a_collector_that_hangs_delays_no_answer_past_its_deadline() {
    let (received, endpoint, _server) = collector().await;
    received.hangs.store(true, Ordering::SeqCst);
    let variables =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000")];
    let mut function = Function::start(example("otlp"), &variables).await;
    for batch in 0..40 {
        // The first batch includes the start of the process.
        let left = Duration::from_millis(if batch == 0 { 5_000 } else { 450 });
        let began = Instant::now();
        function.offer("request", event(&[0]), left);
        let answer = function.answer().await;
        assert_eq!(answer.kind, "response", "batch {batch}: {answer:?}");
        assert!(began.elapsed() < PATIENCE / 4, "batch {batch}");
    }
    assert!(received.requests.load(Ordering::SeqCst) > 0);

    received.hangs.store(false, Ordering::SeqCst);
    let came_back = async {
        while received.spans.lock().unwrap().is_empty() {
            function.respond(event(&[0])).await;
        }
    };
    tokio::time::timeout(PATIENCE, came_back).await.expect("spans are exported again");
    let (stdout, stderr) = function.end().await;
    assert!((stdout + &stderr).contains("telemetry was not exported in time"));
}
