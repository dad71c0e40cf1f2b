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
async fn another_worker_takes_over_after_sigterm_and_after_sigkill() {
    let aws = TestAws::new();
    let queue = aws.queue("films").dead_letter_queue("films-dead", 5).create();
    let consumer = Consumer::new(render).sqs(aws.sqs()).drain(Duration::from_secs(20));
    let mut workers = queue.worked_by(|url, stop| consumer.work_until(url, stop));

    // 20 s after SIGTERM the worker cancels the handler and releases its message.
    let film = queue.send(json!("Metropolis"));
    workers.run_for(Duration::from_secs(10)).await;
    assert_eq!((aws.elapsed().as_secs(), queue.counts().visible), (30, 1));

    // After SIGKILL the message stays hidden until its lease ends, last extended 5 s before.
    workers.killed_after(Duration::from_secs(15)).await;
    assert_eq!(queue.counts().in_flight, 1);
    workers.until_idle().await;
    assert_eq!(film.received()[2], Duration::from_secs(70));
}
