use std::time::{Duration, Instant};

use redrive_local::{EventKind, Local, Speed, Statistic};

use crate::support::sdk;
use crate::support::{alarm, message, run, shop};

#[tokio::test]
async fn hours_of_waiting_pass_in_well_under_a_second_and_none_is_skipped() {
    let history = run(shop(Speed::Max), &["hide 7200"]).await;
    let attempts: Vec<_> = history
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Received { .. }))
        .map(|event| event.at.as_secs_f64())
        .collect();
    assert_eq!(attempts.len(), 3);
    for pair in attempts.windows(2) {
        let between = pair[1] - pair[0];
        assert!((7_200.0..7_201.0).contains(&between), "{between}");
    }
    assert!(history.totals.simulated > Duration::from_secs(6 * 3_600), "{:?}", history.totals.simulated);
    assert!(history.totals.wall < Duration::from_secs(1), "{:?}", history.totals.wall);
}

#[tokio::test]
async fn at_a_multiple_of_real_time_waiting_takes_that_much_less() {
    let history = run(shop(Speed::Times(60.0)), &["fail 1"]).await;
    assert!(history.totals.wall > Duration::from_millis(500), "{:?}", history.totals.wall);
    assert!(history.totals.wall < Duration::from_secs(4), "{:?}", history.totals.wall);
}

/// A message that a function released is received again while its batch still runs.
#[tokio::test]
async fn each_attempt_that_fails_is_told_before_the_next_one_and_when_it_was() {
    let mut config = shop(Speed::Times(20.0));
    config.functions[0].timeout = Duration::from_secs(10);
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    let ids = local.send_all([("orders", message("hide 2")), ("orders", message("slow 2600"))]).unwrap();
    tokio::time::timeout(Duration::from_secs(60), local.until_idle()).await.expect("it comes to rest");
    local.stop().await;
    let mut told = Vec::new();
    while let Some(event) = events.recv().await {
        let is_it = |message_id: &String| *message_id == ids[0];
        told.extend(match &event.kind {
            EventKind::Received { message_id, attempt, .. } if is_it(message_id) => {
                Some((format!("received {attempt}"), event.at))
            }
            EventKind::Failed { message_id, attempt, .. } if is_it(message_id) => {
                Some((format!("failed {attempt}"), event.at))
            }
            EventKind::BackIn { message_id, seconds, .. } if is_it(message_id) => {
                Some((format!("back in {seconds}"), event.at))
            }
            _ => None,
        });
    }
    let words: Vec<&str> = told.iter().map(|(what, _)| what.as_str()).collect();
    let expected: [&str; 9] = [
        "received 1",
        "failed 1",
        "back in 2",
        "received 2",
        "failed 2",
        "back in 2",
        "received 3",
        "failed 3",
        "back in 2",
    ];
    assert_eq!(words, expected);
    assert!(told[1].1 < Duration::from_secs(1) && told[3].1 >= Duration::from_secs(2), "{told:?}");
}

#[tokio::test]
async fn a_function_reckons_ages_and_deadlines_by_its_own_clock() {
    let history = run(shop(Speed::Max), &["ages"]).await;
    let ages: Vec<_> = history.lines().into_iter().filter(|line| line.starts_with("sent")).collect();
    assert_eq!(ages, ["sent 0 s ago, first received 0 s ago", "sent 30 s ago, first received 30 s ago"]);
    for line in history.lines() {
        let Some(left) = line.strip_prefix("time left ") else { continue };
        assert!((500..=1_000).contains(&left.parse::<u32>().unwrap()), "{line}");
    }
}

#[tokio::test]
async fn the_alarm_on_dead_letters_goes_off_before_all_is_idle() {
    let history = run(shop(Speed::Max), &["ok", "fail"]).await;
    assert_eq!(history.alarms(), ["DeadLetter OK", "DeadLetter ALARM"]);
    let reason = history.kinds().filter_map(|kind| match kind {
        EventKind::Alarm { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    let reason = reason.last().unwrap();
    assert!(reason.starts_with("Threshold Crossed: 1 datapoint [1.0 ("), "{reason}");
    assert!(reason.ends_with(")] was greater than or equal to the threshold (1.0)."), "{reason}");
}

#[tokio::test]
async fn an_alarm_on_a_metric_that_the_function_puts_goes_off() {
    let mut config = shop(Speed::Max);
    config.alarms = vec![alarm("Orders", "Shop", "Orders", None)];
    config.alarms[0].statistic = Statistic::Sum;
    config.alarms[0].threshold = 7.0;
    let history = run(config, &["metric 3", "metric 4"]).await;
    assert_eq!(history.alarms().last().map(String::as_str), Some("Orders ALARM"));
    assert_eq!(history.totals.aws_calls, [("cloudwatch.PutMetricData".to_owned(), 2)].into());
}

#[tokio::test]
async fn a_batch_window_is_waited_for() {
    let mut config = shop(Speed::Max);
    config.mappings[0].window = Duration::from_secs(20);
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    for _ in 0..3 {
        local.send("orders", message("ok")).unwrap();
    }
    local.until_idle().await;
    local.stop().await;
    let mut started = Vec::new();
    while let Some(event) = events.recv().await {
        if let EventKind::InvocationStarted { messages, .. } = event.kind {
            started.push((event.at.as_secs(), messages));
        }
    }
    assert_eq!(started, [(20, 3)]);
}

#[tokio::test]
async fn nothing_sent_is_idle_and_no_time_passes() {
    let history = run(shop(Speed::Max), &[]).await;
    assert!(history.events.is_empty());
    assert_eq!(history.totals.simulated, Duration::ZERO);
}

/// Returns an account in which a client has a letter for two seconds, while a message would return after ten minutes.
async fn held() -> (Local, aws_sdk_sqs::Client, String) {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    let sqs = sdk::sqs(&local);
    local.send("orders-dead", message("letter")).unwrap();
    let receive = sqs.receive_message().queue_url(local.queue_url("orders-dead")).visibility_timeout(2);
    let received = receive.send().await.unwrap().messages.unwrap().remove(0);
    local.send("orders", message("hide 600")).unwrap();
    (local, sqs, received.receipt_handle.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_client_holds_a_message_time_is_real_until_it_is_deleted() {
    let (local, sqs, handle) = held().await;
    let before = local.control().clock();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = local.control().clock();
    let passed = (after.at - before.at).as_secs_f64();
    assert!((0.4..1.5).contains(&passed) && after.pace == 1.0, "{before:?} {after:?}");
    let delete = sqs.delete_message().queue_url(local.queue_url("orders-dead")).receipt_handle(handle);
    delete.send().await.unwrap();
    let begun = Instant::now();
    local.until_idle().await;
    let totals = local.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(totals.simulated > Duration::from_secs(1_200), "{totals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_deletes_delays_time_for_one_timeout_only() {
    for purged in [false, true] {
        let (local, sqs, _) = held().await;
        if purged {
            sqs.purge_queue().queue_url(local.queue_url("orders-dead")).send().await.unwrap();
        }
        let begun = Instant::now();
        local.until_idle().await;
        assert!(local.stop().await.simulated > Duration::from_secs(1_200));
        let expected = if purged { 0.0..1.5 } else { 1.5..4.0 };
        assert!(expected.contains(&begun.elapsed().as_secs_f64()), "purged: {purged}, {:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skip_ends_what_a_client_holds() {
    let (local, ..) = held().await;
    let begun = Instant::now();
    local.control().skip(Duration::from_secs(1_000)).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    local.until_idle().await;
    local.stop().await;
}
