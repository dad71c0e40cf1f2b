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
async fn only_one_worker_renders_a_film_however_long_it_takes() {
    let aws = TestAws::new();
    let queue = aws.queue("films").visibility_timeout(Duration::from_secs(30)).create();
    let consumer = Consumer::new(render).sqs(aws.sqs());

    let film = queue.send(json!("Metropolis"));
    queue.worked_by(|url, stop| consumer.work_until(url, stop)).workers(2).until_idle().await;

    assert_eq!(film.received().len(), 2);
    assert_eq!(film.done().attempts, 2);
}
