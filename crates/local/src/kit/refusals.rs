//! The panics that end a test, with their texts.

use std::convert::Infallible;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::TestAws;
use crate::queue::NewMessage;

async fn done(_: Value, _: Instant) -> Result<Value, Infallible> {
    Ok(json!({}))
}

#[tokio::test(start_paused = true)]
#[should_panic(
    expected = "is not done, but waits with receive count 1, hidden until 30s after it arrived; its last invocation: Error(\"down\")"
)]
async fn a_message_that_is_not_done_says_where_it_is() {
    let queue = TestAws::new().queue("orders").create();
    let order = queue.send("tea");
    queue.invokes(async |_: Value, _| Err::<Value, _>("down")).once().await;
    let _ = order.done();
}

#[tokio::test(start_paused = true)]
#[should_panic(
    expected = "of queue orders (tea) is not dead-lettered, but done at attempt 1, 0ns after it arrived"
)]
async fn a_message_that_is_no_dead_letter_says_what_it_is() {
    let queue = TestAws::new().queue("orders").create();
    let order = queue.send("tea");
    queue.invokes(done).until_idle().await;
    let _ = order.dead_letter();
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "queue orders is not idle after 2592000s and 2881 invocations")]
async fn a_run_that_never_ends_is_ended() {
    let queue = TestAws::new().queue("orders").create();
    let again = || NewMessage { delay: Some(Duration::from_secs(900)), ..NewMessage::from("again") };
    queue.send("first");
    let function = async |_: Value, _| {
        queue.send(again());
        Ok::<_, Infallible>(json!({}))
    };
    queue.invokes(function).until_idle().await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "after 0ns and 10001 invocations, allowed: 2592000s and 10000: message ")]
async fn so_is_one_that_takes_no_time() {
    let queue = TestAws::new().queue("orders").create();
    queue.send("first");
    let function = async |_: Value, _| {
        queue.send("again");
        Ok::<_, Infallible>(json!({}))
    };
    queue.invokes(function).until_idle().await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "queue visibility timeout: 30 seconds is less than function timeout: 31 seconds")]
async fn a_mapping_that_aws_would_refuse_is_refused() {
    let queue = TestAws::new().queue("orders").create();
    queue.invokes(done).timeout(Duration::from_secs(31)).until_idle().await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "queue orders has no message that can be received: message ")]
async fn an_invocation_needs_a_message() {
    let queue = TestAws::new().queue("orders").create();
    queue.send(NewMessage { delay: Some(Duration::from_secs(5)), ..NewMessage::from("tea") });
    queue.invokes(done).once().await;
}

#[test]
#[should_panic(expected = "queue orders.fifo: The request must contain the parameter MessageGroupId.: tea")]
fn a_refused_message_panics_with_the_words_of_sqs() {
    TestAws::new().queue("orders.fifo").create().send("tea");
}

#[test]
#[should_panic(expected = "queue orders has no redrive policy, and so no dead-letter queue")]
fn a_queue_without_a_dead_letter_queue_says_so() {
    let _ = TestAws::new().queue("orders").create().dead_letter_queue();
}
