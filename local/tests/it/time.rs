use std::time::Duration;

use redrive_local::{EventKind, Local, Speed, Statistic};

use crate::support::{alarm, message, run, shop};

#[tokio::test]
async fn hours_of_waiting_pass_in_well_under_a_second_and_none_is_skipped() {
    let story = run(shop(Speed::Max), &["hide 7200"]).await;
    let attempts: Vec<_> = story
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
    assert!(story.totals.simulated > Duration::from_secs(6 * 3_600), "{:?}", story.totals.simulated);
    assert!(story.totals.wall < Duration::from_secs(1), "{:?}", story.totals.wall);
}

#[tokio::test]
async fn at_a_multiple_of_real_time_waiting_takes_that_much_less() {
    let story = run(shop(Speed::Times(60.0)), &["fail 1"]).await;
    assert!(story.totals.wall > Duration::from_millis(500), "{:?}", story.totals.wall);
    assert!(story.totals.wall < Duration::from_secs(4), "{:?}", story.totals.wall);
}

#[tokio::test]
async fn a_function_reckons_ages_and_deadlines_by_its_own_clock() {
    let story = run(shop(Speed::Max), &["ages"]).await;
    let ages: Vec<_> = story.lines().into_iter().filter(|line| line.starts_with("sent")).collect();
    assert_eq!(ages, ["sent 0 s ago, first received 0 s ago", "sent 30 s ago, first received 30 s ago"]);
    for line in story.lines() {
        let Some(left) = line.strip_prefix("time left ") else { continue };
        assert!((500..=1_000).contains(&left.parse::<u32>().unwrap()), "{line}");
    }
}

#[tokio::test]
async fn the_alarm_on_dead_letters_goes_off_before_all_is_idle() {
    let story = run(shop(Speed::Max), &["ok", "fail"]).await;
    assert_eq!(story.alarms(), ["DeadLetter OK", "DeadLetter ALARM"]);
    let reason = story.kinds().filter_map(|kind| match kind {
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
    let story = run(config, &["metric 3", "metric 4"]).await;
    assert_eq!(story.alarms().last().map(String::as_str), Some("Orders ALARM"));
    assert_eq!(story.totals.aws_calls, [("cloudwatch.PutMetricData".to_owned(), 2)].into());
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
    let story = run(shop(Speed::Max), &[]).await;
    assert!(story.events.is_empty());
    assert_eq!(story.totals.simulated, Duration::ZERO);
}
