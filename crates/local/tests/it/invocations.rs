use redrive_local::{EventKind, InvocationOutcome, Local, MappingConfig, Speed};

use crate::support::{History, fifo_shop, in_group, message, run, run_all, shop};

const EXHAUSTED: [&str; 10] = [
    "attempt 1",
    "failed 1",
    "back",
    "attempt 2",
    "failed 2",
    "back",
    "attempt 3",
    "failed 3",
    "back",
    "dead: redrive policy",
];

const SECOND_TIME: [&str; 5] = ["attempt 1", "failed 1", "back", "attempt 2", "done"];

async fn history_of(bodies: &[&str]) -> History {
    run(shop(Speed::Max), bodies).await
}

#[tokio::test]
async fn a_message_that_succeeds_is_deleted_without_a_call() {
    let history = history_of(&["ok", "ok", "ok"]).await;
    assert_eq!(history.of("ok").iter().filter(|what| *what == "done").count(), 3);
    assert_eq!((history.totals.messages, history.totals.done, history.totals.left), (3, 3, 0));
    assert_eq!(history.totals.invocations, 1);
    assert!(history.totals.aws_calls.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_sent_together_are_received_together() {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    let ids = local.send_all(["ok"; 10].map(|body| ("orders", message(body)))).unwrap();
    local.until_idle().await;
    let totals = local.stop().await;
    assert_eq!((ids.len(), totals.done, totals.invocations), (10, 10, 1));
}

#[tokio::test]
async fn a_refused_message_of_several_is_named_by_its_index() {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    let refused = local.send_all(["ok", "", "ok"].map(|body| ("orders", message(body))));
    assert_eq!(refused.unwrap_err().0, 1);
    local.until_idle().await;
    assert_eq!(local.stop().await.done, 1);
}

#[tokio::test]
async fn a_reported_failure_comes_back_alone_after_the_visibility_timeout() {
    let history = history_of(&["ok", "fail 1"]).await;
    assert_eq!(history.of("ok"), ["attempt 1", "done"]);
    assert_eq!(history.of("fail 1"), SECOND_TIME);
}

#[tokio::test]
async fn a_failed_invocation_returns_its_whole_batch() {
    for (body, outcome) in [
        ("error 1", InvocationOutcome::Error("Boom: it broke".into())),
        ("exit 1", InvocationOutcome::Exited("exit status: 3".into())),
        ("killed 1", InvocationOutcome::Exited("signal: 9 (SIGKILL)".into())),
        ("hang 1", InvocationOutcome::TimedOut),
        (
            "stranger 1",
            InvocationOutcome::BadResponse("itemIdentifier somebody-else is not in the batch".into()),
        ),
        (
            "garbage 1",
            InvocationOutcome::BadResponse(
                "invalid JSON: EOF while parsing an object at line 1 column 1".into(),
            ),
        ),
        (
            "huge 1",
            InvocationOutcome::Error(
                "Function.ResponseSizeTooLarge: response payload is larger than 6291456 bytes".into(),
            ),
        ),
    ] {
        let history = history_of(&["ok", body]).await;
        assert_eq!(history.outcomes(), [&outcome, &InvocationOutcome::Succeeded]);
        assert_eq!(history.of(body), SECOND_TIME, "{body}");
        assert_eq!(history.of("ok"), SECOND_TIME, "beside {body}");
        assert_eq!((history.totals.done, history.totals.left), (2, 0), "{body}");
    }
}

#[tokio::test]
async fn a_process_is_kept_as_long_as_it_lives_and_replaced_after_that() {
    for (body, processes) in [("fail", 1), ("error", 1), ("exit", 3), ("hang 1", 2)] {
        let history = history_of(&[body]).await;
        let started = history.lines().iter().filter(|line| line.starts_with("started")).count();
        assert_eq!(started, processes, "{body}");
    }
}

#[tokio::test]
async fn a_hopeless_message_is_delivered_as_often_as_the_policy_says() {
    for body in ["fail", "error", "exit", "killed"] {
        let history = history_of(&[body]).await;
        assert_eq!(history.of(body), EXHAUSTED, "{body}");
        assert_eq!(history.totals.dead_lettered, [("redrive policy".to_owned(), 1)].into());
        assert_eq!((history.totals.done, history.totals.left), (0, 0));
    }
}

#[tokio::test]
async fn a_letter_that_the_function_writes_is_told_with_its_reason() {
    let history = history_of(&["letter"]).await;
    assert_eq!(history.of("letter"), ["attempt 1", "dead: rejected"]);
    assert_eq!(history.totals.dead_lettered, [("rejected".to_owned(), 1)].into());
    assert_eq!((history.totals.messages, history.totals.done), (1, 0));
    assert_eq!(history.totals.aws_calls, [("sqs.SendMessage".to_owned(), 1)].into());
}

#[tokio::test]
async fn a_visibility_timeout_that_the_function_sets_is_kept() {
    let history = history_of(&["hide 3"]).await;
    assert_eq!(history.of("hide 3"), EXHAUSTED);
    assert_eq!(history.back_in(), [3, 3, 3]);
    let history = history_of(&["fail"]).await;
    assert!(history.back_in().iter().all(|seconds| (25..=30).contains(seconds)), "{:?}", history.back_in());
}

#[tokio::test]
async fn without_report_batch_item_failures_any_response_deletes_everything() {
    for (body, end) in [("fail", "lost"), ("garbage", "done"), ("stranger", "done")] {
        let mut config = shop(Speed::Max);
        config.mappings[0].report_batch_item_failures = false;
        let history = run(config, &["ok", body]).await;
        assert_eq!(history.of(body), ["attempt 1", end], "{body}");
        assert_eq!(history.totals.deleted_although_failed, usize::from(end == "lost"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_processes_run_at_once_as_the_mapping_allows() {
    let mut config = shop(Speed::Max);
    let mapping = MappingConfig { batch_size: 1, maximum_concurrency: Some(3), ..config.mappings[0].clone() };
    config.mappings = vec![mapping];
    let history = run(config, &["hang 1"; 6]).await;
    let started = history.lines().iter().filter(|line| line.starts_with("started")).count();
    assert!((6..=9).contains(&started), "{started}");
    assert!(history.totals.wall.as_secs() < 5, "{:?}", history.totals.wall);
    assert_eq!((history.totals.done, history.totals.left), (6, 0));
}

#[tokio::test]
async fn a_fifo_batch_has_several_groups_and_a_failed_message_returns_first() {
    let messages = [("A", "fail 1"), ("B", "ok"), ("A", "ok")]
        .map(|(group, body)| ("orders.fifo", in_group(group, body)));
    let history = run_all(fifo_shop(Speed::Max), messages).await;
    let batches = history.kinds().filter_map(|kind| match kind {
        EventKind::InvocationStarted { messages, .. } => Some(*messages),
        _ => None,
    });
    assert_eq!(batches.collect::<Vec<_>>(), [3, 1]);
    assert_eq!((history.totals.done, history.totals.left), (3, 0));
}

#[tokio::test]
async fn an_event_of_thousands_of_messages_arrives_whole() {
    let mut config = shop(Speed::Max);
    config.functions[0].timeout = std::time::Duration::from_secs(20);
    config.mappings[0].batch_size = 10_000;
    config.mappings[0].window = std::time::Duration::from_secs(5);
    let body = format!("ok {}", "x".repeat(480));
    let history = run(config, &vec![body.as_str(); 5_500]).await;
    assert_eq!(history.totals.done, 5_500);
    assert_eq!(history.totals.invocations, 1);
}

#[tokio::test]
async fn a_fifo_message_behind_a_failed_one_is_released_and_did_not_fail() {
    let messages = [("a", "fail 1"), ("a", "hide 5"), ("b", "ok")];
    let messages = messages.map(|(group, body)| ("orders.fifo", in_group(group, body)));
    let mut config = fifo_shop(Speed::Max);
    // The first batch has all three messages.
    config.mappings[0].maximum_concurrency = Some(2);
    let history = run_all(config, messages).await;
    assert_eq!(history.of("fail 1")[..3], ["attempt 1", "failed 1", "back"]);
    assert_eq!(history.of("hide 5")[..2], ["attempt 1", "released 1"]);
}
