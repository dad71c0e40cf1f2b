//! A message that ends its process, for example because memory runs out, affects no other message.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::{Consumer, Message};
use redrive_local::kit::TestAws;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;

const DELIVERIES: u32 = 30;

/// Handles ten messages, of which one ends the process each time. Says how often each ran, and how often each was received.
async fn runs_and_receives(killer: u32) -> (Vec<usize>, Vec<u32>) {
    let aws = TestAws::new();
    let queue = aws.queue("orders").visibility_timeout(Duration::from_secs(60));
    let queue = queue.dead_letter_queue("dead", DELIVERIES).create();
    let (killed, runs) = (Arc::new(Notify::new()), Arc::new(Mutex::new(Vec::new())));
    let handler = {
        let (killed, runs) = (Arc::clone(&killed), Arc::clone(&runs));
        move |number: u32| {
            let (killed, runs) = (Arc::clone(&killed), Arc::clone(&runs));
            async move {
                runs.lock().unwrap().push(number);
                sleep(Duration::from_millis(20)).await;
                if number == killer {
                    killed.notify_one();
                    std::future::pending::<()>().await;
                }
                sleep(Duration::from_millis(20)).await;
                Ok::<_, &str>(())
            }
        }
    };
    // The process begins anew after each kill.
    let new = || Consumer::new(handler.clone()).sqs(aws.sqs()).max_receive_count(DELIVERIES);
    let consumer = RefCell::new(Arc::new(new()));
    let mut mapping = queue.invokes(async |event, deadline| {
        let process = Arc::clone(&consumer.borrow());
        tokio::select! {
            response = process.handle(event, deadline) => response.map_err(|error| error.to_string()),
            () = killed.notified() => {
                *consumer.borrow_mut() = Arc::new(new());
                Err("Runtime exited with error: signal: killed".to_owned())
            }
        }
    });
    let orders: Vec<_> = (0..10).map(|number| queue.send(json!(number))).collect();
    mapping.until_idle().await;
    assert_eq!(orders[killer as usize].dead_letter().attempts, DELIVERIES);
    let receives = orders.iter().enumerate().filter(|(number, _)| *number != killer as usize);
    let receives = receives.map(|(_, order)| order.done().attempts).collect();
    let runs = runs.lock().unwrap();
    ((0..10).map(|number| runs.iter().filter(|run| **run == number).count()).collect(), receives)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_ends_the_process_does_not_dead_letter_others() {
    let (mut runs, receives) = runs_and_receives(4).await;
    runs.remove(4);
    // Twice all run at once. Then each runs alone, and is deleted before the next one begins.
    assert_eq!(runs, [3; 9]);
    // Each kill leaves those that come after it, half of them on average.
    assert!(receives.iter().all(|receives| (3..=20).contains(receives)), "{receives:?}");
}

#[tokio::test(start_paused = true)]
async fn in_a_recovery_only_the_first_batch_of_a_process_runs_one_by_one() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("dead", DELIVERIES).create();
    let handler = |order: Message<u32>| async move {
        sleep(Duration::from_millis(100)).await;
        if order.attempt < 3 { Err("503 Service Unavailable") } else { Ok(()) }
    };
    let consumer = Consumer::new(handler).sqs(aws.sqs()).max_receive_count(DELIVERIES);
    (0..60).for_each(|number| drop(queue.send(json!(number))));
    let mut mapping =
        queue.invokes(|event, deadline| consumer.handle(event, deadline)).maximum_concurrency(1);
    let invocations = mapping.until_idle().await;
    let took: Vec<_> = invocations.iter().map(|invocation| invocation.took.as_millis()).collect();
    let [first, others @ ..] = &took[12..] else { panic!("{took:?}") };
    assert!(*first >= 1_000 && others.iter().all(|took| *took < 200), "{took:?}");
}
