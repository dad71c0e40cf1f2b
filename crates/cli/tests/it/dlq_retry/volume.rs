//! Many letters: `retry` loses none, and its memory does not grow with them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::letters::{DEAD, ORDERS, bodies, distinct, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, process};

/// Retries every second of so many letters, and gives the peak of its memory in KiB, just before its end.
fn retry_half(letters: u32) -> u64 {
    let aws = Aws::with_orders(false);
    write_many(&aws, letters as usize);
    let mut run = process(&aws.url, "dlq retry --queue orders --yes --where 'reason = panic'");
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
    let status = Path::new("/proc").join(run.id().to_string()).join("status");
    let mut peak = 0;
    let code = loop {
        if let Some(code) = run.try_wait().unwrap() {
            break code;
        }
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        peak = kib.unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(code.success());
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((letters / 2, 0), (letters / 2, 0)));
    assert_eq!(distinct(&bodies(&aws, ORDERS)), letters as usize / 2);
    assert_eq!(distinct(&bodies(&aws, DEAD)), letters as usize / 2);
    peak
}

#[test]
fn three_thousand_letters_take_hardly_more_memory_than_three_hundred() {
    let (few, many) = (retry_half(300), retry_half(3_000));
    eprintln!("300 letters: {few} KiB, 3,000 letters: {many} KiB");
    // On a busy machine, allocations differ by some MiB.
    assert!(few > 0 && many < few + 8 * 1_024, "300 letters: {few} KiB, 3,000 letters: {many} KiB");
}

#[test]
fn a_queue_to_which_every_letter_comes_back_at_once_is_left() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 30);
    // Whatever is sent to the queue dies there at once: a letter is written for it.
    let (sqs, dead) = (aws.sqs.clone(), aws.queue_url(DEAD));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let proxy = Proxy::start(&aws.url, move |call, _| {
        if call.action == "SendMessageBatch" {
            for entry in call.input["Entries"].as_array().unwrap() {
                let body = entry["MessageBody"].as_str().unwrap();
                runtime.block_on(sqs.send_message().queue_url(&dead).message_body(body).send()).unwrap();
            }
        }
        Fate::Answered
    });
    let ran = proxy.redrive("dlq retry --queue orders --yes");
    ran.ended(0);
    let sent = aws.counts(ORDERS).0;
    assert!((30..60).contains(&sent), "{sent} were sent: {}", ran.stdout);
    assert_eq!(aws.counts(DEAD), (30, 0), "{}", ran.stdout);
}
