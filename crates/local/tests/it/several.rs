use redrive_local::{Config, EventKind, FunctionConfig, MappingConfig, QueueConfig, Speed};

use crate::support::{History, message, run_all, shop};

/// Returns the shop with a second queue, `invoices`, and a second function, `clerk`, for it.
fn office() -> Config {
    let mut config = shop(Speed::Max);
    let attributes = [("VisibilityTimeout".into(), "10".into())];
    config.queues.push(QueueConfig { name: "invoices".into(), attributes: attributes.into() });
    config.functions.push(FunctionConfig { name: "clerk".into(), ..config.functions[0].clone() });
    let (queue, function) = ("invoices".into(), "clerk".into());
    config.mappings.push(MappingConfig { queue, function, ..config.mappings[0].clone() });
    config
}

fn processes(history: &History, function: &str) -> usize {
    let of_it = history.kinds().filter(|kind| {
        matches!(kind, EventKind::Output { function: name, line } if name == function && line.starts_with("started"))
    });
    of_it.count()
}

/// Returns the number of messages that a function got.
fn given(history: &History, function: &str) -> usize {
    let started = history.kinds().filter_map(|kind| match kind {
        EventKind::InvocationStarted { function: name, messages, .. } if name == function => Some(*messages),
        _ => None,
    });
    started.sum()
}

#[tokio::test]
async fn each_function_works_on_its_own_queue_in_its_own_processes() {
    let messages = [("orders", "ok"), ("invoices", "fail 1"), ("orders", "exit 1")];
    let history = run_all(office(), messages.map(|(queue, body)| (queue, message(body)))).await;
    assert_eq!((history.totals.done, history.totals.left), (3, 0));
    assert_eq!(history.of("fail 1"), ["attempt 1", "failed 1", "back", "attempt 2", "done"]);
    assert_eq!((given(&history, "worker"), given(&history, "clerk")), (4, 2));
    assert_eq!((processes(&history, "worker"), processes(&history, "clerk")), (2, 1));
}

#[tokio::test]
async fn a_function_may_work_on_two_queues_with_the_rules_of_each() {
    let mut config = office();
    config.mappings[1].function = "worker".into();
    config.mappings[1].report_batch_item_failures = false;
    let messages = [("orders", "fail 1"), ("invoices", "fail 2")];
    let history = run_all(config, messages.map(|(queue, body)| (queue, message(body)))).await;
    assert_eq!(history.of("fail 1"), ["attempt 1", "failed 1", "back", "attempt 2", "done"]);
    assert_eq!(history.of("fail 2"), ["attempt 1", "lost"]);
    assert_eq!((given(&history, "worker"), given(&history, "clerk")), (3, 0));
}

#[tokio::test]
async fn the_concurrency_of_a_function_is_shared_by_its_mappings() {
    let mut config = office();
    config.mappings[1].function = "worker".into();
    config.functions[0].reserved_concurrency = Some(1);
    let messages = [("orders", "slow 200"), ("invoices", "slow 1")];
    let history = run_all(config, messages.map(|(queue, body)| (queue, message(body)))).await;
    assert_eq!((history.totals.done, processes(&history, "worker")), (2, 1));
    assert!(history.kinds().any(|kind| matches!(kind, EventKind::Throttled { messages: 1, .. })));
}

#[tokio::test]
async fn a_function_can_send_to_the_queue_of_another() {
    let history = run_all(office(), [("orders", message("send invoices"))]).await;
    assert_eq!((given(&history, "worker"), given(&history, "clerk")), (1, 1));
    assert_eq!((history.totals.messages, history.totals.done), (2, 2));
    assert_eq!(history.totals.aws_calls, [("sqs.SendMessage".to_owned(), 1)].into());
}
