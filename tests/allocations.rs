//! The number of allocations of a batch. On Lambda memory is rented by the millisecond, and memory that is not allocated is
//! neither filled nor freed. Unlike time, allocations also show if something grows faster than its input.
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use redrive::{Consumer, Failure, Record};
use redrive_local::{Config, Local};
use serde::Deserialize;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Duration, Instant};

#[global_allocator]
static COUNTING: dhat::Alloc = dhat::Alloc;

/// All threads are counted together.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What one more message may take, besides what its body decodes into. Measured: 0.01, from the difference of 1,000
/// messages and 100.
const PER_MESSAGE: f64 = 0.1;
/// What a batch takes however large it is. Measured: 37, what 100 messages take beyond that.
const PER_BATCH: f64 = 42.0;

/// It owns one string, and so does every message that is decoded.
#[derive(Deserialize)]
struct Order {
    id: String,
}
const PER_BODY: f64 = 1.0;

async fn take(order: Order) -> Result<(), Failure> {
    drop(std::hint::black_box(order.id));
    Ok(())
}

fn event(messages: usize) -> SqsEvent {
    let record = |number: usize| {
        let mut message = SqsMessage::default();
        message.message_id = Some(format!("id-{number}"));
        message.receipt_handle = Some("handle".repeat(70));
        message.body = Some(format!(r#"{{"id": "order-{number}"}}"#));
        message.event_source_arn = Some("arn:aws:sqs:eu-west-1:123456789012:orders".to_owned());
        message.attributes.insert("ApproximateReceiveCount".to_owned(), "1".to_owned());
        message.attributes.insert("SentTimestamp".to_owned(), "1763700000000".to_owned());
        message
    };
    let mut event = SqsEvent::default();
    event.records = (0..messages).map(record).collect();
    event
}

/// The allocations of one batch of successes.
fn allocations(messages: usize, runtime: &Runtime) -> f64 {
    let consumer = Consumer::new(take);
    let batch = event(messages);
    let profiler = dhat::Profiler::builder().testing().build();
    let response = runtime.block_on(consumer.handle(batch, Instant::now() + Duration::from_secs(60)));
    let blocks = dhat::HeapStats::get().total_blocks as f64;
    drop(profiler);
    assert!(response.is_ok_and(|response| response.batch_item_failures.is_empty()));
    blocks
}

#[test]
fn a_message_that_succeeds_allocates_little_and_a_batch_hardly_more() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    allocations(10, &runtime); // what is made once per process
    for messages in [10, 100, 1_000, 10_000] {
        // One more poll costs one more, so the machine's load counts; the fewest of some runs are the code's own.
        let runs = (0..5).map(|_| allocations(messages, &runtime));
        let allocated = runs.fold(f64::INFINITY, f64::min);
        println!("{messages} messages: {allocated} allocations, {:.2} each", allocated / messages as f64);
        let most = PER_BATCH + (PER_MESSAGE + PER_BODY) * messages as f64;
        assert!(allocated <= most, "{messages} messages: {allocated} allocations, {most} at most");
    }
}

/// The bank of this customer is down.
async fn charge(customer: String) -> Result<(), Failure> {
    Err(Failure::outage("the bank is down").on_dependency(customer))
}

#[test]
fn names_that_senders_choose_are_not_kept_in_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let name = |record: &Record<'_>| Some(record.body().trim_matches('"').to_owned());
    let consumer = Consumer::new(charge).depends_on(name).max_receive_count(10);
    let profiler = dhat::Profiler::builder().testing().build();
    for number in 0..100 {
        let mut event = event(1);
        event.records[0].body = Some(format!("\"{number}{}\"", "k".repeat(1_000_000)));
        let response = runtime.block_on(consumer.handle(event, Instant::now() + Duration::from_secs(60)));
        assert_eq!(response.map(|response| response.batch_item_failures.len()).ok(), Some(1));
    }
    let kept = dhat::HeapStats::get().curr_bytes;
    drop(profiler);
    println!("{kept} bytes after 100 names of 1 MB");
    assert!(kept < 100_000, "{kept} bytes");
}

fn create_queue(endpoint: &str, number: usize) {
    let host = endpoint.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("it is there");
    let body = format!("{{\"QueueName\":\"q{number:04}\"}}");
    let head = "POST / HTTP/1.1\r\nconnection: close\r\nx-amz-target: AmazonSQS.CreateQueue";
    write!(stream, "{head}\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .expect("it is there");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it is there");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

#[test]
fn a_local_queue_is_created_beside_many_as_beside_few() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let local = runtime.block_on(Local::start(Config::default())).unwrap();
    let endpoint = local.endpoint_url();
    let [few, many] = [(0, 10), (20, 800)].map(|(first, last)| {
        (first..last).for_each(|number| create_queue(&endpoint, number));
        let profiler = dhat::Profiler::builder().testing().build();
        (last..last + 10).for_each(|number| create_queue(&endpoint, number));
        let blocks = dhat::HeapStats::get().total_blocks;
        drop(profiler);
        blocks
    });
    println!("ten queues: {few} allocations beside 10, {many} beside 800");
    assert!(many < few * 3 / 2, "{few} {many}");
    runtime.block_on(local.stop());
}
