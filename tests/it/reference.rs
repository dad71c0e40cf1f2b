use std::fs;
use std::path::Path;
use std::time::Duration;

use redrive::{BatchReport, Failure, Text};
use redrive_local::NewMessage;

use crate::support::{Aws, Handled};

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md")).unwrap()
}

/// The cells of the table below a heading, without its head.
fn table(heading: &str) -> Vec<Vec<String>> {
    let page = page();
    let section = page.split(heading).nth(1).unwrap();
    let rows =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.skip(2).map(cells).collect()
}

async fn obey(body: Text) -> Result<(), Failure> {
    let after = Duration::from_secs(60);
    match body.0.as_str() {
        "`Ok(())`" => Ok(()),
        "any error (`?`)" => Err("down")?,
        "`Failure::retry(e)`" => Err(Failure::retry("busy")),
        "`Failure::retry_after(d, e)`" => Err(Failure::retry_after(after, "busy")),
        "`Failure::reject(e)`" => Err(Failure::reject("no")),
        "`Failure::defer(d)`" => Err(Failure::defer(after)),
        "`Failure::outage(e)`" => {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Err(Failure::outage("503"))
        }
        "`Failure::discard(e)`" => Err(Failure::discard("late")),
        "a panic" => panic!("boom"),
        "ran out of time" => std::future::pending().await,
        row => panic!("docs/reference.md has a row that no test knows: {row}"),
    }
}

/// One message whose body is the first cell of a row, on its first delivery.
async fn handled(row: &str) -> Handled {
    let aws = Aws::standard();
    if row == "a body that does not decode" {
        aws.send_all("orders", ["{"]);
        return aws
            .handle(&aws.consumer("orders", |_: u8| async { Ok::<_, Failure>(()) }), "orders", 1)
            .await;
    }
    aws.send_all("orders", [row]);
    aws.handle(&aws.consumer("orders", obey), "orders", 1).await
}

fn counted(report: &BatchReport) -> String {
    let counters = [
        ("Succeeded", report.succeeded),
        ("WorkerErrors", report.worker_errors),
        ("Retried", report.retried),
        ("DeadLettered", report.dead_lettered),
        ("Deferred", report.deferred),
        ("Discarded", report.discarded),
        ("Outages", report.outages),
        ("NotStarted", report.not_started),
    ];
    counters.iter().filter(|(_, count)| *count > 0).map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[tokio::test(start_paused = true)]
async fn every_row_of_the_table_of_outcomes_holds() {
    let rows = table("## Outcomes");
    assert_eq!(rows.len(), 14);
    for row in &rows[..11] {
        let [handler, response, back, dead, counters] = row.as_slice() else { panic!("{row:?}") };
        let handled = handled(handler).await;
        assert_eq!(if handled.failed.is_empty() { "left out" } else { "failed" }, response, "{handler}");
        assert_eq!(handled.deleted().len(), usize::from(response == "left out"), "{handler}");
        let delay = match (handled.delays().values().next(), handled.report.outages) {
            (None, _) => "-",
            (Some(60), 0) => "d",
            (Some(_), 0) => "2^attempt s",
            (Some(60..=64), _) => "1 min to 1 h",
            (Some(seconds), _) => panic!("an outage waits {seconds} s"),
        };
        assert_eq!(delay, back, "{handler}");
        match handled.notes().first() {
            Some(note) => assert_eq!(format!("at once, `{}`", note.reason), *dead, "{handler}"),
            None if handled.failed.is_empty() => assert_eq!(dead, "-", "{handler}"),
            None => assert_eq!(dead, "after the last delivery", "{handler}"),
        }
        assert_eq!(counted(&handled.report), *counters, "{handler}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_rows_of_messages_that_never_ran_hold() {
    let rows = table("## Outcomes");
    let aws = Aws::standard();
    aws.send_all("orders", 0..3);
    let handler = |_: Text| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok::<_, Failure>(())
    };
    let consumer = aws.consumer("orders", handler).concurrency(1);
    let waiting = aws.handle_within(Duration::from_secs(10), &consumer, "orders", 3).await;
    // One is done, one was cancelled, and the third is the one this is about.
    let mut delays: Vec<_> = waiting.delays().into_values().collect();
    delays.sort_unstable();
    assert_eq!((delays.as_slice(), waiting.report.not_started), ([0, 2].as_slice(), 1));
    assert_eq!(rows[11][1..3], ["failed", "0 s, or 2^attempt s if nothing else was finished"]);
    assert_eq!(rows[11][4], "NotStarted");

    let aws = Aws::fifo();
    for body in ["any error (`?`)", "`Ok(())`"] {
        aws.send("orders.fifo", NewMessage::from(body).group("A"));
    }
    let behind = aws.handle(&aws.consumer("orders.fifo", obey), "orders.fifo", 2).await;
    let mut delays: Vec<_> = behind.delays().into_values().collect();
    delays.sort_unstable();
    assert_eq!(delays, [2, 4]);
    assert_eq!(rows[13][1..3], ["failed", "2 s more than that one"]);
    assert_eq!(rows[13][4], counted(&behind.report).rsplit(", ").next().unwrap());

    let aws = Aws::standard();
    aws.send_all("orders", ["`Failure::outage(e)`"; 5]);
    let consumer = aws.consumer("orders", obey).concurrency(1);
    let held = aws.handle(&consumer, "orders", 5).await;
    assert!(held.delays().values().all(|seconds| (60..=64).contains(seconds)), "{:?}", held.delays());
    assert_eq!(
        (held.failed.len(), held.report.outages, held.report.not_started),
        (5, 4, 1),
        "the fourth had begun"
    );
    assert_eq!(rows[12][1..], ["failed", "1 min to 1 h", "-", "NotStarted"]);
}

#[test]
fn every_variable_that_is_read_is_in_the_table_of_settings() {
    let source =
        |file| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file)).unwrap();
    let text = source("settings/table.rs")
        + &source("settings/queues.rs")
        + &source("run.rs")
        + &source("../crates/dynamodb/src/store.rs");
    let mut read: Vec<_> = text
        .split('"')
        .filter(|word| {
            word.starts_with("REDRIVE_") && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        })
        .collect();
    read.sort_unstable();
    read.dedup();
    let mut listed: Vec<_> =
        table("## Settings").into_iter().map(|row| row[0].split('`').nth(1).unwrap().to_owned()).collect();
    listed.sort_unstable();
    assert_eq!(read, listed);
}
