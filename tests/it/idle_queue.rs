use std::convert::Infallible;
use std::time::Duration;

use redrive_local::kit::TestAws;
use redrive_local::{AlarmConfig, AlarmState, Comparison, MissingData};
use serde_json::{Value, json};

fn nothing_sent(missing: MissingData) -> AlarmConfig {
    AlarmConfig {
        name: format!("nothing sent, {missing:?}"),
        comparison: Comparison::LessThanThreshold,
        missing,
        ..AlarmConfig::sum_of("AWS/SQS", "NumberOfMessagesSent", [("QueueName", "orders")])
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_queue_has_no_values_at_all() {
    let aws = TestAws::new();
    let queue = aws.queue("orders").create();
    let depth = aws.alarm(AlarmConfig { missing: MissingData::Missing, ..AlarmConfig::depth_of("orders") });
    let silence = aws.alarm(nothing_sent(MissingData::Breaching));
    let deaf = aws.alarm(nothing_sent(MissingData::Missing));

    queue.send(json!({ "id": "o-1" }));
    queue.invokes(async |_: Value, _| Ok::<_, Infallible>(json!({}))).until_idle().await;
    tokio::time::sleep(Duration::from_hours(8)).await;

    let minute = Duration::from_mins(1);
    let hours = Duration::from_hours(6);
    assert_eq!(
        depth.changes(),
        [(minute, AlarmState::Ok), (hours + 4 * minute, AlarmState::InsufficientData)]
    );
    assert_eq!(silence.changes(), [(minute, AlarmState::Ok), (4 * minute, AlarmState::Alarm)]);
    assert_eq!(deaf.changes(), [(minute, AlarmState::Ok), (4 * minute, AlarmState::InsufficientData)]);
}
