use std::time::Duration;

use opentelemetry::trace::Status;
use redrive::{Failure, Text};
use redrive_local::NewMessage;
use redrive_local::kit::Fault;

use crate::support::{Watched, attribute};

async fn obey(order: String) -> Result<(), Failure> {
    match order.as_str() {
        "reject" => Err(Failure::reject("no such address").with_reason("bad-address")),
        "defer" => Err(Failure::defer(Duration::from_secs(600))),
        "discard" => Err(Failure::discard("too late")),
        "panic" => panic!("a bug"),
        "hang" => std::future::pending().await,
        _ => Err("the bank is down".into()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_an_error_of_its_reason_and_what_is_meant_is_none() {
    let table = [
        ("\"fail\"", "retried", Some("error"), Status::error("the bank is down"), 0, true),
        ("\"reject\"", "dead-lettered", Some("bad-address"), Status::error("no such address"), 0, true),
        ("{", "dead-lettered", Some("malformed"), Status::error("…"), 0, true),
        ("\"panic\"", "dead-lettered", Some("panic"), Status::error("a bug"), 0, true),
        ("\"hang\"", "retried", Some("timeout"), Status::error("…"), 5_000, true),
        ("\"defer\"", "deferred", None, Status::Unset, 0, true),
        ("\"discard\"", "discarded", None, Status::Unset, 0, false),
    ];
    for (body, outcome, error_type, status, took, settles) in table {
        let watched = Watched::new();
        let queue = watched.queue("orders");
        queue.send(body);
        let consumer = watched.consumer(&queue, obey);
        queue.invokes(|event, deadline| consumer.handle(event, deadline)).once().await;

        let processes = watched.named("process orders");
        let [span] = &processes[..] else { panic!("{body}: {processes:?}") };
        assert_eq!(attribute(span, "redrive.outcome").as_deref(), Some(outcome), "{body}");
        assert_eq!(attribute(span, "error.type").as_deref(), error_type, "{body}");
        match &status {
            Status::Error { description } if description == "…" => {
                assert!(matches!(span.status, Status::Error { .. }), "{body}: {:?}", span.status);
            }
            _ => assert_eq!(span.status, status, "{body}"),
        }
        let duration = span.end_time.duration_since(span.start_time).unwrap();
        assert_eq!(duration, Duration::from_millis(took), "{body}");
        let below = watched.child_of(span.span_context.span_id());
        assert_eq!(below.len(), usize::from(settles), "{body}: {below:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_sqs_refuses_is_an_error() {
    let watched = Watched::new();
    let queue = watched.queue("orders");
    queue.send("tea");
    watched.aws.faults(|operation: &str, _| (operation != "ReceiveMessage").then_some(Fault::Refused));
    let consumer = watched.consumer(&queue, |_: Text| async { Err::<(), Failure>("down".into()) });
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).once().await;
    let settles = watched.named("settle orders");
    assert_eq!(settles.len(), 1);
    assert_eq!(attribute(&settles[0], "error.type").as_deref(), Some("_OTHER"));
    assert!(matches!(settles[0].status, Status::Error { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_message_behind_a_failure_in_its_group_has_no_handler_span() {
    let watched = Watched::new();
    let queue = watched.queue("orders.fifo");
    for body in ["fail", "behind"] {
        let message = NewMessage { deduplication_id: Some(body.to_owned()), ..NewMessage::from(body) };
        queue.send(message.group("g"));
    }
    let consumer = watched.consumer(&queue, |_: Text| async { Err::<(), Failure>("down".into()) });
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).once().await;
    assert_eq!(watched.named("process orders.fifo").len(), 1);
    let settles = watched.named("settle orders.fifo");
    let outcomes: Vec<_> = settles.iter().filter_map(|span| attribute(span, "redrive.outcome")).collect();
    assert_eq!(outcomes, ["retried", "not-started"]);
}
