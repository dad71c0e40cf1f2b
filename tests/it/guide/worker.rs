use std::time::Duration;

use redrive::{Consumer, Message};
use redrive_local::kit::TestAws;
use serde_json::json;
use tokio::time::sleep;

async fn render(film: Message<String>) -> Result<(), &'static str> {
    sleep(Duration::from_secs(100)).await;
    if film.attempt < 2 { Err("the disk is full") } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn a_film_is_rendered_by_one_worker_at_a_time_however_long_that_takes() {
    let aws = TestAws::new();
    let queue = aws.queue("films").visibility_timeout(Duration::from_secs(30)).create();
    let consumer = Consumer::new(render).sqs(aws.sqs());

    let film = queue.send(json!("Metropolis"));
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(2).until_idle().await;

    assert_eq!(film.received().len(), 2);
    assert_eq!(film.done().attempts, 2);
}

#[tokio::test(start_paused = true)]
async fn a_film_is_left_to_the_next_worker_at_sigterm_and_at_sigkill() {
    let aws = TestAws::new();
    let queue = aws.queue("films").dead_letter_queue("films-dead", 5).create();
    let consumer = Consumer::new(render).sqs(aws.sqs()).drain(Duration::from_secs(20));
    let mut workers = queue.worked_by(|url, stop| consumer.work_until(url, stop));

    // The handler is canceled 20 s after SIGTERM, and its message goes back at once.
    let film = queue.send(json!("Metropolis"));
    workers.run_for(Duration::from_secs(10)).await;
    assert_eq!((aws.elapsed().as_secs(), queue.counts().visible), (30, 1));

    // After SIGKILL it is hidden until the lease ends, extended last 5 s before.
    workers.killed_after(Duration::from_secs(15)).await;
    assert_eq!(queue.counts().in_flight, 1);
    workers.until_idle().await;
    assert_eq!(film.received()[2], Duration::from_secs(70));
}
