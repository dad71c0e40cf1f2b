//! Messages at a fixed rate, and two workers that are replaced in turn, as by deploys. For ten minutes: `ROLLING_SECONDS=600
//! ROLLING_RESTART=10 cargo test --workspace --test it -- rolling --nocapture`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redrive_local::NewMessage;
use tokio::time::{interval, sleep};

use super::running::{Ended, Running};
use super::{open, until_done};

fn seconds(variable: &str, default: u64) -> Duration {
    let set = std::env::var(variable).ok().map(|seconds| seconds.parse().unwrap());
    Duration::from_secs(set.unwrap_or(default))
}

/// One of fifty takes longer than the drain, but not than two of them.
fn body(number: usize, restart: Duration) -> String {
    match number % 50 {
        49 => format!("{number} sleep:{}", restart.as_millis() * 3 / 4),
        7 => format!("{number} sleep:500"),
        9 => format!("{number} block:100"),
        _ => format!("{number} sleep:20"),
    }
}

#[tokio::test]
async fn restarts_one_after_the_other_have_no_message_handled_twice() {
    let (lasts, restart) = (seconds("ROLLING_SECONDS", 20), seconds("ROLLING_RESTART", 4));
    let mut aws = open(30).await;
    let (endpoint, url) = (aws.local.endpoint_url(), aws.local.queue_url("orders"));
    let drain = (restart / 2).as_secs().to_string();
    let settings =
        [("REDRIVE_DRAIN", drain.as_str()), ("REDRIVE_CONCURRENCY", "20"), ("REDRIVE_LOG", "warn")];
    let start = || Running::start(&endpoint, &url, &settings);

    let sender = aws.local.control();
    let sending = tokio::spawn(async move {
        let (until, mut ticks) = (Instant::now() + lasts, interval(Duration::from_millis(20)));
        let mut sent = 0;
        while Instant::now() < until {
            ticks.tick().await;
            let body = body(sent, restart);
            sender.send("orders", NewMessage { body, ..NewMessage::default() }).unwrap();
            sent += 1;
        }
        sent
    });
    let (mut running, mut ending) = ([start(), start()], Vec::new());
    let mut place = 0;
    while !sending.is_finished() {
        sleep(restart).await;
        let old = std::mem::replace(&mut running[place], start());
        ending.push(tokio::spawn(old.stop()));
        place = 1 - place;
    }
    let sent = sending.await.unwrap();
    let mut ended = Vec::new();
    for old in ending {
        ended.push(old.await.unwrap());
    }
    until_done(&mut aws, sent).await;
    for running in running {
        ended.push(running.stop().await);
    }
    for ended in &ended {
        ended.is_good();
    }
    let handled = count(&ended);
    assert_eq!(handled.len(), sent);
    let twice: Vec<_> = handled.iter().filter(|(_, (_, ended))| *ended > 1).collect();
    assert!(twice.is_empty(), "handled twice: {twice:?}");
    let again: Vec<_> = handled.iter().filter(|(_, (began, _))| *began > 1).map(|(name, _)| name).collect();
    println!("{sent} messages, {} workers, {} messages begun again", ended.len(), again.len());
    assert!(again.iter().all(|number| **number % 50 == 49), "cut off, though short: {again:?}");
    let longest = ended.iter().map(|ended| ended.took).max();
    assert!(longest < Some(restart / 2 + Duration::from_secs(5)), "{longest:?}");
    aws.close().await;
}

/// How often the handler of each message began, and ended.
type Handled = HashMap<usize, (usize, usize)>;

fn count(ended: &[Ended]) -> Handled {
    let mut handled = Handled::new();
    let lines = ended.iter().flat_map(|ended| &ended.lines);
    for line in lines.map(|line| &*line.text) {
        if let Some(number) = line.strip_prefix("began:") {
            handled.entry(number.parse().unwrap()).or_default().0 += 1;
        } else if let Some(number) = line.strip_prefix("ended:") {
            handled.entry(number.parse().unwrap()).or_default().1 += 1;
        }
    }
    handled
}
