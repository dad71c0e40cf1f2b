//! A process that stops for longer than its leases last, as after SIGSTOP or while its machine sleeps.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use redrive::{Bulk, Consumer, Failure, Input, Message};
use redrive_local::NewMessage;
use redrive_local::kit::{Queue, TestAws};
use tokio::time::{Instant, sleep, sleep_until};

const SECOND: Duration = Duration::from_secs(1);

/// The effects of handlers: the message and its attempt.
type Effects = Arc<Mutex<Vec<(usize, u32)>>>;

/// Nothing of the process runs between these times, and the clock goes on.
async fn stopped<T>(process: impl Future<Output = T>, from: Instant, until: Instant) -> T {
    let (mut process, mut resumes) = (pin!(process), pin!(sleep_until(until)));
    poll_fn(|context| {
        let now = Instant::now();
        if from <= now && now < until {
            let _ = resumes.as_mut().poll(context);
            return Poll::Pending;
        }
        process.as_mut().poll(context)
    })
    .await
}

/// A worker is stopped 5 s after it has received messages, and another one takes over after 30 s. When the first one resumes after
/// 40 s, what its handlers waited for has happened long ago.
async fn stop_one_of_two<H, M>(aws: &TestAws, queue: &Queue, consumer: Consumer<H, M>)
where
    H: redrive::Handler<M>,
    M: Input,
{
    let (consumer, began) = (consumer.sqs(aws.sqs()), Instant::now());
    let (stops, resumes) = (began + 5 * SECOND, began + 40 * SECOND);
    let mut first =
        queue.worked_by(async |url, stop| stopped(consumer.work_until(url, stop), stops, resumes).await);
    let mut second = queue.worked_by(async |url, stop| consumer.work_until(url, stop).await);
    let later = async {
        sleep(SECOND).await;
        second.run_for(100 * SECOND).await;
    };
    tokio::join!(first.run_for(100 * SECOND), later);
}

#[tokio::test(start_paused = true)]
async fn a_handler_has_no_effect_after_a_stop_beyond_its_lease() {
    for name in ["orders", "orders.fifo"] {
        let (aws, effects) = (TestAws::new(), Effects::default());
        let queue = aws.queue(name).visibility_timeout(30 * SECOND).create();
        let messages = if name == "orders" { 1 } else { 3 };
        for number in 1..=messages {
            let message = NewMessage::from(number.to_string().as_str());
            queue.send(if name == "orders" { message } else { message.group("A") });
        }
        let own = Arc::clone(&effects);
        let handle = move |order: Message<usize>| {
            let effects = Arc::clone(&own);
            async move {
                sleep(6 * SECOND).await;
                effects.lock().unwrap().push((order.body, order.attempt));
                Ok::<_, Failure>(())
            }
        };
        stop_one_of_two(&aws, &queue, Consumer::new(handle)).await;
        let expected: Vec<_> = (1..=messages).map(|number| (number, 2)).collect();
        assert_eq!(*effects.lock().unwrap(), expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bulk_handler_has_no_effect_after_a_stop_beyond_its_leases() {
    let (aws, effects) = (TestAws::new(), Effects::default());
    let queue = aws.queue("orders").visibility_timeout(30 * SECOND).create();
    (1..=3).for_each(|number: usize| drop(queue.send(number.to_string().as_str())));
    let own = Arc::clone(&effects);
    let handle = move |orders: Bulk<Message<usize>>| {
        let effects = Arc::clone(&own);
        async move {
            sleep(6 * SECOND).await;
            effects.lock().unwrap().extend(orders.iter().map(|order| (order.body, order.attempt)));
            Ok::<_, Failure>(())
        }
    };
    stop_one_of_two(&aws, &queue, Consumer::new(handle)).await;
    let mut effects = effects.lock().unwrap().clone();
    effects.sort_unstable();
    assert_eq!(effects, [(1, 2), (2, 2), (3, 2)]);
}
