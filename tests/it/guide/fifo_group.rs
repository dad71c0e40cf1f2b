use std::time::Duration;

use redrive::{Consumer, Message};
use redrive_local::kit::TestAws;
use redrive_local::{NewMessage, configure};
use serde_json::json;

async fn book(entry: Message<String>) -> Result<(), &'static str> {
    if entry.body == "open account" && entry.attempt == 1 { Err("the ledger is locked") } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn a_failed_entry_holds_back_its_own_account_only() {
    let aws = TestAws::new();
    let queue = aws.queue("entries.fifo").dead_letter_queue("entries-dead.fifo", 5).create();
    let consumer = configure!(Consumer::new(book), queue);

    let entry = |account, text| queue.send(NewMessage::from(json!(text)).group(account));
    let first = entry("ada", "open account");
    let second = entry("ada", "pay 20");
    let other = entry("bob", "pay 30");
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;

    assert_eq!(other.done().after, Duration::ZERO);
    assert_eq!(first.done().after, Duration::from_secs(2));
    assert_eq!(second.done().after, Duration::from_secs(4));
}
