use std::time::Duration;

use redrive_local::{Config, EventKind, Speed};

use crate::support::{History, fifo_shop, in_group, run, run_all, shop};

#[tokio::test]
async fn a_message_that_matches_no_filter_is_deleted_without_an_invocation() {
    let mut config = shop(Speed::Max);
    config.mappings[0].filters = [r#"{"body": {"kind": ["gift"]}}"#, r#"{"body": [{"prefix": "ok"}]}"#]
        .map(|text| text.parse().unwrap())
        .into();
    let (gift, loan) = (r#"{"kind": "gift"}"#, r#"{"kind": "loan"}"#);
    let history = run(config, &[gift, loan, "ok", "fail"]).await;
    for body in [gift, "ok"] {
        assert_eq!(history.of(body), ["attempt 1", "done"]);
    }
    for body in [loan, "fail"] {
        assert_eq!(history.of(body), ["filtered out 1"]);
    }
    assert_eq!((history.totals.messages, history.totals.done, history.totals.filtered_out), (4, 2, 2));
    assert_eq!(history.totals.invocations, 1);
}

#[tokio::test]
async fn a_filter_makes_room_for_others_in_the_batch() {
    let mut config = shop(Speed::Max);
    config.mappings[0].filters = vec![r#"{"body": ["ok"]}"#.parse().unwrap()];
    let history = run(config, &[&["no"; 15][..], &["ok"; 10][..]].concat()).await;
    assert_eq!((history.totals.filtered_out, history.totals.done, history.totals.invocations), (15, 10, 1));
}

/// Returns a configuration with batches of one, and this reserved concurrency.
fn reserved(concurrency: usize) -> Config {
    let mut config = shop(Speed::Max);
    config.mappings[0].batch_size = 1;
    config.mappings[0].maximum_concurrency = Some(2);
    config.functions[0].reserved_concurrency = Some(concurrency);
    config
}

fn throttled(history: &History) -> usize {
    history.kinds().filter(|kind| matches!(kind, EventKind::Throttled { .. })).count()
}

#[tokio::test]
async fn a_throttled_batch_waits_until_the_function_has_room() {
    let history = run(reserved(1), &["slow 300", "ok"]).await;
    assert_eq!(history.of("slow 300"), ["attempt 1", "done"]);
    assert_eq!(history.of("ok"), ["attempt 1", "done"]);
    assert_eq!(throttled(&history), 1);
    let at_once = run(reserved(2), &["slow 300", "ok"]).await;
    assert_eq!((throttled(&at_once), at_once.totals.done), (0, 2));
}

#[tokio::test]
async fn throttled_deliveries_count_until_a_healthy_message_is_dead() {
    let history = run(reserved(0), &["ok"]).await;
    assert_eq!(
        history.of("ok"),
        ["not delivered 1", "not delivered 2", "not delivered 3", "dead: redrive policy"]
    );
    assert_eq!((throttled(&history), history.totals.invocations), (3, 0));
    let simulated = history.totals.simulated.as_secs();
    assert!((90..150).contains(&simulated), "{simulated}");
}

/// Returns the order of starts and ends, by the body of each invocation's only message.
fn course(history: &History) -> Vec<String> {
    let mut bodies = std::collections::BTreeMap::new();
    history
        .kinds()
        .filter_map(|kind| match kind {
            EventKind::Received { message_id, request_id: Some(request_id), .. } => {
                bodies.insert(request_id.clone(), history.body(message_id).to_owned());
                Some(format!("{} starts", history.body(message_id)))
            }
            EventKind::InvocationEnded { request_id, .. } => Some(format!("{} ends", bodies[request_id])),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_group_has_one_invocation_at_a_time_and_others_run_beside_it() {
    let mut config = fifo_shop(Speed::Max);
    config.mappings[0].batch_size = 1;
    let messages = [("A", "slow 400"), ("A", "slow 1"), ("B", "slow 2")]
        .map(|(group, body)| ("orders.fifo", in_group(group, body)));
    let history = run_all(config, messages).await;
    assert_eq!(
        course(&history),
        ["slow 400 starts", "slow 2 starts", "slow 2 ends", "slow 400 ends", "slow 1 starts", "slow 1 ends"]
    );
}

#[tokio::test]
async fn a_failed_group_waits_alone() {
    let mut config = fifo_shop(Speed::Max);
    config.mappings[0].batch_size = 1;
    let messages = [("A", "fail 1"), ("A", "ok 1"), ("B", "ok 2")]
        .map(|(group, body)| ("orders.fifo", in_group(group, body)));
    let history = run_all(config, messages).await;
    let of_a: Vec<_> = course(&history).into_iter().filter(|step| !step.starts_with("ok 2")).collect();
    assert_eq!(
        of_a,
        ["fail 1 starts", "fail 1 ends", "fail 1 starts", "fail 1 ends", "ok 1 starts", "ok 1 ends"]
    );
}

#[tokio::test]
async fn a_batch_that_is_full_does_not_wait_for_its_window() {
    let mut config = shop(Speed::Max);
    config.mappings[0].batch_size = 12;
    config.mappings[0].window = Duration::from_secs(20);
    let history = run(config, &["ok"; 30]).await;
    let started: Vec<_> = history
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::InvocationStarted { messages, .. } => Some((event.at.as_secs(), messages)),
            _ => None,
        })
        .collect();
    assert_eq!(started, [(0, 12), (0, 12), (20, 6)]);
}
