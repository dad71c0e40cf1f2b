//! A message that ends its process, as one that runs out of memory does, takes no other message along.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive::Consumer;
use redrive_local::NewMessage;
use redrive_local::kit::TestAws;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;

const DELIVERIES: u32 = 30;

/// Handles ten messages, of which one ends the process each time. Says how often each ran, and how often each was received.
async fn runs_and_receives(killer: u32, group: Option<&str>) -> (Vec<usize>, Vec<u32>) {
    let aws = TestAws::new();
    let (name, dead) = if group.is_some() { ("orders.fifo", "dead.fifo") } else { ("orders", "dead") };
    let queue =
        aws.queue(name).visibility_timeout(Duration::from_secs(60)).dead_letter_queue(dead, DELIVERIES);
    let queue = queue.create();
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
    let send = |number| {
        let message = NewMessage::from(json!(number));
        queue.send(match group {
            Some(group) => message.group(group),
            None => message,
        })
    };
    let orders: Vec<_> = (0..10).map(send).collect();
    mapping.until_idle().await;
    assert_eq!(orders[killer as usize].dead_letter().attempts, DELIVERIES);
    let receives = orders.iter().enumerate().filter(|(number, _)| *number != killer as usize);
    let receives = receives.map(|(_, order)| order.done().attempts).collect();
    let runs = runs.lock().unwrap();
    ((0..10).map(|number| runs.iter().filter(|run| **run == number).count()).collect(), receives)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_ends_the_process_dead_letters_no_other() {
    let (mut runs, receives) = runs_and_receives(4, None).await;
    runs.remove(4);
    // Twice all run at once. Then each runs alone, and is deleted before the next one begins.
    assert_eq!(runs, [3; 9]);
    // Each kill leaves those that come after it, half of them on average.
    assert!(receives.iter().all(|receives| (3..=20).contains(receives)), "{receives:?}");
}

#[tokio::test(start_paused = true)]
async fn in_a_group_those_before_it_are_deleted_too() {
    let (mut runs, receives) = runs_and_receives(9, Some("a")).await;
    runs.remove(9);
    assert_eq!((runs, receives), (vec![3; 9], vec![3; 9]));
}
