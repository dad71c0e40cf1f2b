use std::convert::Infallible;
use std::time::Duration;

use redrive::{Consumer, Failure};
use redrive_local::kit::TestAws;
use redrive_local::{AlarmConfig, AlarmState, configure};
use serde_json::{Value, json};

async fn refuse(_: Value) -> Result<(), Failure> {
    Err(Failure::reject("the card has expired"))
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_raises_the_alarm_until_it_is_handled() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").dead_letter_queue("orders-dead", 10).create();
    let dead = queue.dead_letter_queue();
    let alarm = aws.alarm(AlarmConfig::depth_of("orders-dead"));
    let consumer = configure!(Consumer::new(refuse), queue);

    queue.send(json!({ "id": "o-1" }));
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(alarm.state(), AlarmState::Alarm);

    dead.invokes(async |_: Value, _| Ok::<_, Infallible>(json!({}))).until_idle().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let minute = Duration::from_secs(60);
    assert_eq!(alarm.changes(), [(minute, AlarmState::Alarm), (2 * minute, AlarmState::Ok)]);
}
