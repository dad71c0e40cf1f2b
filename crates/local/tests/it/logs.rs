use std::time::{Duration, SystemTime};

use aws_sdk_cloudwatchlogs::Client;
use redrive_local::{Local, Speed};

use crate::support::{message, sdk, shop};

/// Starts a shop and processes these messages.
async fn after(bodies: &[&str]) -> (Local, Client) {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    for body in bodies {
        local.send("orders", message(body)).unwrap();
    }
    tokio::time::timeout(Duration::from_secs(20), local.until_idle()).await.expect("it comes to rest");
    let logs = sdk::logs(&local);
    (local, logs)
}

async fn find(logs: &Client, pattern: &str) -> Vec<String> {
    let found = logs.filter_log_events().log_group_name("/aws/lambda/worker").filter_pattern(pattern);
    let found = found.send().await.unwrap();
    found.events().iter().map(|event| event.message().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn the_output_of_a_function_is_found_by_a_filter() {
    let (local, logs) = after(&["ok"]).await;
    assert_eq!(find(&logs, "started").await.len(), 1);
    assert_eq!(find(&logs, "\"time left\" -started").await.len(), 1);
    assert_eq!(find(&logs, "nonsense").await.len(), 0);
    let [report] = &find(&logs, "REPORT").await[..] else { panic!("one report") };
    for part in ["REPORT RequestId: ", "\tDuration: ", "\tMemory Size: 128 MB\t", "Init Duration: "] {
        assert!(report.contains(part), "{report}");
    }
    local.stop().await;
}

#[tokio::test]
async fn each_process_has_a_stream_of_its_own_and_the_simulated_time() {
    let begun = SystemTime::now();
    let (local, logs) = after(&["exit"]).await;
    let streams = logs.describe_log_streams().log_group_name("/aws/lambda/worker").send().await.unwrap();
    assert_eq!(streams.log_streams().len(), 3, "the process ended in each of three deliveries");
    let name = streams.log_streams()[0].log_stream_name().unwrap();
    let of_one = logs.filter_log_events().log_group_name("/aws/lambda/worker").log_stream_names(name);
    let of_one = of_one.send().await.unwrap();
    let starts = of_one.events().iter().filter(|event| event.message().unwrap().starts_with("START"));
    assert_eq!(starts.count(), 1);
    let all = logs.filter_log_events().log_group_name("/aws/lambda/worker").filter_pattern("START");
    let times: Vec<_> =
        all.send().await.unwrap().events().iter().map(|event| event.timestamp().unwrap()).collect();
    let begun = begun.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    assert!(times[0] - begun < 10_000, "{times:?} after {begun}");
    for pair in times.windows(2) {
        assert!((29_500..31_500).contains(&(pair[1] - pair[0])), "a visibility timeout apart: {times:?}");
    }
    let exits = find(&logs, "\"Error Type: Runtime.ExitError\"").await;
    assert_eq!(exits.len(), 3);
    local.stop().await;
}

#[tokio::test]
async fn a_list_of_events_comes_in_pages_that_a_paginator_follows() {
    let (local, logs) = after(&["ok", "ok", "ok"]).await;
    let paginator =
        logs.filter_log_events().log_group_name("/aws/lambda/worker").limit(2).into_paginator().send();
    let pages = paginator.collect::<Result<Vec<_>, _>>().await.unwrap();
    assert!(pages.iter().all(|page| page.events().len() <= 2), "{pages:?}");
    let events: usize = pages.iter().map(|page| page.events().len()).sum();
    assert_eq!(events, find(&logs, "").await.len());
    assert!(pages.len() > 2, "{pages:?}");
    local.stop().await;
}
