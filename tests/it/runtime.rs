use std::time::Duration;

use redrive_local::EventKind;
use serde_json::json;

use crate::support::loopback;
use crate::support::shop::{Open, Story, order, shop};

/// When a message was received, and what it was told to wait after each attempt but the last; in seconds.
fn rhythm(story: &Story, id: &str) -> (Vec<f64>, Vec<u64>) {
    let (mut received, mut waits) = (Vec::new(), Vec::new());
    for event in &story.events {
        match &event.kind {
            EventKind::Received { queue, message_id, .. } if queue == "orders" && message_id == id => {
                received.push(event.at.as_secs_f64());
            }
            EventKind::BackIn { message_id, seconds, .. } if message_id == id => waits.push(*seconds),
            _ => {}
        }
    }
    // After the last attempt it is back at once, and may have been moved before anyone can tell.
    waits.truncate(received.len() - 1);
    (received, waits)
}

#[tokio::test]
async fn a_failing_order_waits_2_4_8_seconds_then_moves_and_keeps_its_id() {
    let open = Open::start(shop(10)).await;
    let body = order("down");
    let id = open.send([body.as_str()]).remove(0);
    open.until_idle().await;

    let dead = open.local.queue_url("orders-dead");
    let letters = loopback::sqs(&open.local.endpoint_url())
        .receive_message()
        .queue_url(dead)
        .message_system_attribute_names("All".into())
        .send()
        .await
        .unwrap();
    let [letter] = letters.messages() else { panic!("one letter: {letters:?}") };
    assert_eq!((letter.message_id(), letter.body()), (Some(id.as_str()), Some(body.as_str())));
    let source = letter.attributes().unwrap().get(&"DeadLetterQueueSourceArn".into());
    assert_eq!(source.map(String::as_str), Some("arn:aws:sqs:eu-west-1:123456789012:orders"));

    let story = open.close().await;
    let (received, waits) = rhythm(&story, &id);
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 512]);
    for (pair, wait) in received.windows(2).zip(&waits) {
        let passed = pair[1] - pair[0];
        assert!((0.0..4.0).contains(&(passed - *wait as f64)), "{passed} s passed instead of {wait}");
    }
    let moved =
        story.events.iter().find(|event| matches!(event.kind, EventKind::DeadLettered { .. })).unwrap();
    let passed = moved.at.as_secs_f64() - received.last().unwrap();
    assert!(passed < 4.0, "the last delivery moved after {passed} s");
    assert_eq!(story.ends(&id), ["redrive policy 10"]);
}

#[tokio::test]
async fn every_mood_of_the_gateway_ends_as_documented() {
    let table = [
        (order("up"), "done 1"),
        (order(json!({ "down_for": 2 })), "done 3"),
        (order("down"), "redrive policy 4"),
        (order("refuses"), "card-refused 1"),
        (order("panics"), "panic 1"),
        (order("hangs"), "redrive policy 4"),
        (order(json!({ "hangs_for": 1 })), "done 2"),
        (order("up").replace("tea", "gold"), "unknown-item 1"),
        (order("offended"), "malformed 1"),
        ("{\"order_id\":".to_owned(), "malformed 1"),
        ("tea, please".to_owned(), "malformed 1"),
    ];
    let mut config = shop(4);
    config.functions[0].environment.insert("REDRIVE_TIME_LIMIT".to_owned(), "0.3".to_owned());
    let open = Open::start(config).await;
    let ids = open.send(table.iter().map(|(body, _)| body.as_str()));
    open.until_idle().await;
    let story = open.close().await;
    for (id, (body, end)) in ids.iter().zip(&table) {
        assert_eq!(story.ends(id), [*end], "{body}");
    }
    let mut errors: Vec<_> = story
        .kinds()
        .filter_map(|kind| match kind {
            EventKind::DeadLettered { error: Some(error), .. } => Some(error.as_str()),
            _ => None,
        })
        .collect();
    errors.sort_unstable();
    assert_eq!(errors[0], "450 cents: card refused");
    assert_eq!(errors[1], "nobody sells \"gold\"");
    assert!(errors[2].starts_with("the body is not JSON of "), "{errors:?}");
    assert_eq!(errors[5], "the gateway's response could not be parsed");
    assert_eq!((story.totals.messages, story.totals.done, story.totals.left), (11, 3, 0));
    assert!(story.totals.simulated > Duration::from_secs(14), "2, 4 and 8 s passed: {:?}", story.totals);
}

/// Three outages open the breaker. A minute passes within a moment.
#[tokio::test]
async fn a_circuit_breaker_closes_by_the_simulated_clock() {
    let open = Open::start(shop(10)).await;
    let ids = open.send(vec![order(json!({ "away_for": 1 })); 3]);
    open.until_idle().await;
    let story = open.close().await;
    let ends: Vec<_> = ids.iter().map(|id| story.ends(id)).collect();
    assert!(ends.iter().any(|end| *end == ["done 2"]), "the first that comes back tries: {ends:?}");
    assert_eq!(story.totals.done, 3, "{ends:?}");
}

#[tokio::test]
async fn orders_that_succeed_cost_no_aws_call() {
    let open = Open::start(shop(10)).await;
    open.send(vec![order("up"); 25]);
    open.until_idle().await;
    let story = open.close().await;
    assert_eq!((story.totals.done, story.totals.left), (25, 0));
    assert_eq!(story.totals.aws_calls, [].into());
}
