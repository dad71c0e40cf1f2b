use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::{SpanId, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use redrive::{Failure, Message, Text};
use redrive_local::NewMessage;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{Watched, attribute, attributes};

const W3C: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const XRAY: &str = "Root=1-67891233-abcdef012345678912345678;Parent=463ac35c9f6413ad;Sampled=1";

async fn wait(_: Text) -> Result<(), Failure> {
    sleep(Duration::from_millis(30)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_message_is_a_span_linked_to_the_traces_in_which_it_was_sent() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    let message = NewMessage::from("tea").attribute("traceparent", W3C).attribute("tracestate", "shop=7");
    let id = queue.send(NewMessage { trace_header: Some(XRAY.to_owned()), ..message }).id().to_owned();
    let consumer = watched.consumer(&queue, wait);
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    let [span] = &watched.finished()[..] else { panic!("{:?}", watched.finished()) };
    assert_eq!((&*span.name, span.span_kind.clone()), ("process orders", SpanKind::Consumer));
    assert_eq!((span.parent_span_id, span.status.clone()), (SpanId::INVALID, Status::Unset));
    assert_eq!(span.end_time.duration_since(span.start_time).unwrap(), Duration::from_millis(30));
    let expected = [
        ("messaging.destination.name", "orders"),
        ("messaging.message.id", &id),
        ("messaging.operation.name", "process"),
        ("messaging.operation.type", "process"),
        ("messaging.system", "aws_sqs"),
        ("redrive.attempt", "1"),
        ("redrive.outcome", "succeeded"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(attributes(&span.attributes).into_iter().collect::<Vec<_>>(), expected);
    let senders: Vec<_> = span.links.iter().map(|link| &link.span_context).collect();
    let ids: Vec<_> = senders.iter().map(|it| format!("{}-{}", it.trace_id(), it.span_id())).collect();
    let w3c = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";
    assert_eq!(ids, ["67891233abcdef012345678912345678-463ac35c9f6413ad", w3c]);
    assert!(senders.iter().all(|sender| sender.is_remote() && sender.is_sampled()));
    assert_eq!(senders[1].trace_state().header(), "shop=7");
    let scope = &span.instrumentation_scope;
    assert_eq!(
        (scope.name(), scope.schema_url()),
        ("redrive-opentelemetry", Some("https://opentelemetry.io/schemas/1.44.0"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_sender_named_twice_is_linked_once_and_a_malformed_header_not_at_all() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    let same = "00-67891233abcdef012345678912345678-463ac35c9f6413ad-01";
    for (trace_header, traceparent) in [(XRAY, same), ("Root=what", "00-what")] {
        let message = NewMessage::from("tea").attribute("traceparent", traceparent);
        queue.send(NewMessage { trace_header: Some(trace_header.to_owned()), ..message });
    }
    let consumer = watched.consumer(&queue, wait);
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    let mut links: Vec<_> = watched.finished().iter().map(|span| span.links.len()).collect();
    links.sort_unstable();
    assert_eq!(links, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_span_is_current_while_the_handler_runs_and_for_no_other_message() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    for body in ["a", "b", "c"] {
        queue.send(body);
    }
    let tracer = watched.spans.tracer("shop");
    let consumer = watched.consumer(&queue, move |text: Text| {
        let tracer = tracer.clone();
        async move {
            sleep(Duration::from_millis(10)).await;
            let charge = tracer.start(format!("charge {}", text.0));
            let charge = Context::current_with_span(charge);
            sleep(Duration::from_millis(10)).await;
            assert!(Context::current().has_active_span());
            drop(charge);
            Ok::<_, Failure>(())
        }
    });
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    assert!(!Context::current().has_active_span());
    let processes = watched.named("process orders");
    assert_eq!(processes.len(), 3);
    for process in processes {
        let children = watched.child_of(process.span_context.span_id());
        assert_eq!(children.len(), 1, "{children:?}");
        assert_eq!(children[0].span_context.trace_id(), process.span_context.trace_id());
    }
}

#[tokio::test(start_paused = true)]
async fn each_delivery_is_a_span_of_its_own_and_its_call_to_sqs_is_below_it() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    watched.aws.latency(Duration::from_millis(5));
    queue.send("tea");
    let fail_once = |message: Message<Text>| async move {
        if message.attempt == 1 { Err("the bank is down") } else { Ok(()) }
    };
    let consumer = watched.consumer(&queue, fail_once);
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    let processes = watched.named("process orders");
    let [first, second] = &processes[..] else { panic!("{processes:?}") };
    assert_eq!(first.status, Status::error("the bank is down"));
    let of = |span, names: [&str; 3]| names.map(|name| attribute(span, name).unwrap_or_default());
    let names = ["redrive.attempt", "redrive.outcome", "error.type"];
    assert_eq!(of(first, names), ["1", "retried", "error"]);
    assert_eq!(of(second, names), ["2", "succeeded", ""]);

    let settles = watched.named("settle orders");
    let [settle] = &settles[..] else { panic!("{settles:?}") };
    assert_eq!((settle.span_kind.clone(), settle.status.clone()), (SpanKind::Client, Status::Unset));
    assert_eq!(settle.parent_span_id, first.span_context.span_id());
    assert_eq!(settle.end_time.duration_since(settle.start_time).unwrap(), Duration::from_millis(5));
    let id = attribute(first, "messaging.message.id").unwrap();
    let expected = [
        ("messaging.destination.name", "orders"),
        ("messaging.message.id", &id),
        ("messaging.operation.name", "settle"),
        ("messaging.operation.type", "settle"),
        ("messaging.system", "aws_sqs"),
        ("redrive.attempt", "1"),
        ("redrive.outcome", "retried"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(attributes(&settle.attributes).into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_same_message_in_two_batches_at_a_time_is_two_spans() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    queue.send("tea");
    let event = json!({ "Records": queue.receive(1) });
    let consumer = watched.consumer(&queue, wait);
    let handle = async |after| {
        sleep(Duration::from_millis(after)).await;
        let event = serde_json::from_value(event.clone()).unwrap();
        consumer.handle(event, Instant::now() + Duration::from_secs(9)).await.unwrap()
    };
    tokio::join!(handle(0), handle(10));
    let spans = watched.finished();
    assert_eq!(spans.len(), 2);
    for span in spans {
        assert_eq!(span.end_time.duration_since(span.start_time).unwrap(), Duration::from_millis(30));
        assert_eq!(attribute(&span, "redrive.outcome").as_deref(), Some("succeeded"));
    }
}

#[tokio::test(start_paused = true)]
async fn spans_of_a_batch_that_was_given_up_end_when_their_time_is_over() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    queue.send("tea");
    let event = json!({ "Records": queue.receive(1) });
    let given_up = Arc::new(Mutex::new(true));
    let consumer = watched.consumer(&queue, move |_: Text| {
        let is_first = std::mem::take(&mut *given_up.lock().unwrap());
        async move { if is_first { std::future::pending().await } else { Ok::<_, Failure>(()) } }
    });
    let event = || serde_json::from_value(event.clone()).unwrap();
    let handled = consumer.handle(event(), Instant::now() + Duration::from_secs(9));
    tokio::time::timeout(Duration::from_secs(1), handled).await.unwrap_err();
    sleep(Duration::from_secs(900)).await;
    let other = queue.send("coffee");
    assert!(watched.finished().is_empty());
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    assert_eq!(other.done().attempts, 1);
    let unended = |span: &opentelemetry_sdk::trace::SpanData| attribute(span, "redrive.outcome").is_none();
    assert_eq!(watched.finished().into_iter().filter(unended).count(), 1);
}
