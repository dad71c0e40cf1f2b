//! Delays above 15 minutes, on the kit's clock.

use std::time::Duration;

use aws_sdk_scheduler::config::{BehaviorVersion, Config, Credentials, Region};
use redrive::{Consumer, Failure};
use redrive_local::kit::{Fault, Queue, TestAws};
use redrive_local::{Config as LocalConfig, Local, QueueConfig, Speed};
use redrive_send::{NewMessage, Schedules, SendError, Sender};

use crate::faults::sender;

const DAY: Duration = Duration::from_secs(86_400);

fn schedules(aws: &TestAws) -> Schedules {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .http_client(aws.http_client());
    let (client, wall) = (aws_sdk_scheduler::Client::from_conf(config.build()), aws.clone());
    Schedules::new(client, "arn:aws:iam::123456789012:role/schedules").clock(move || wall.now())
}

fn scheduling(aws: &TestAws, queue: &Queue) -> Sender {
    sender(aws, queue).schedules(schedules(aws))
}

async fn run(aws: &TestAws, queue: &Queue, time: Duration) {
    let consumer = Consumer::new(async |_: String| Ok::<_, Failure>(())).sqs(aws.sqs());
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).run_for(time).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_for_thirty_days_later_arrives_then() {
    for name in ["reminders", "reminders.fifo"] {
        let aws = TestAws::new();
        let queue = aws.queue(name).create();
        let message = NewMessage::json("A-1").unwrap().group("g").attribute("channel", "web").delay(30 * DAY);
        let sent = scheduling(&aws, &queue).send(message).await.unwrap();
        assert!(sent.is_scheduled && sent.message_id.starts_with("redrive-"), "{sent:?}");
        assert!(queue.messages().is_empty());
        run(&aws, &queue, 29 * DAY).await;
        run(&aws, &queue, 2 * DAY).await;
        let done = queue.messages()[0].done();
        assert_eq!(done.attempts, 1);
        let late = aws.events()[0].0.checked_sub(30 * DAY).unwrap();
        assert!(late < Duration::from_secs(60), "{late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_with_an_id_is_scheduled_once() {
    let aws = TestAws::new();
    let queue = aws.queue("reminders").create();
    let sender = scheduling(&aws, &queue);
    let message = || NewMessage::json("A-1").unwrap().delay(DAY);
    let known = || message().deduplication("A-1");
    let results = sender.concurrency(1).send_all([known(), known(), message(), message()]).await;
    let sent: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        sent.iter().map(|sent| sent.was_scheduled_before).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    let names: Vec<_> = sent.into_iter().map(|sent| sent.message_id).collect();
    assert!(names[0] == names[1] && names[1] != names[2] && names[2] != names[3], "{names:?}");
    run(&aws, &queue, 2 * DAY).await;
    assert_eq!(queue.messages().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_may_exist_is_not_reported_as_missing() {
    for (then, expected) in [(Fault::Denied, "may have been sent"), (Fault::Throttled, "may have been sent")]
    {
        let aws = TestAws::new();
        let queue = aws.queue("reminders").create();
        aws.faults(move |_, number| Some(if number == 0 { Fault::AnswerLost } else { then }));
        let message = NewMessage::json("A-1").unwrap().delay(DAY);
        let error = scheduling(&aws, &queue).send(message).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        run(&aws, &queue, 2 * DAY).await;
        assert_eq!(queue.messages().len(), 1);
    }
    // The sender tries again until the Scheduler answers.
    let aws = TestAws::new();
    let queue = aws.queue("reminders").create();
    let faults = [Fault::AnswerLost, Fault::Throttled, Fault::Refused];
    aws.faults(move |_, number| faults.get(number).copied());
    let message = NewMessage::json("A-1").unwrap().delay(DAY);
    let sent = scheduling(&aws, &queue).send(message).await.unwrap();
    assert!(sent.is_scheduled && !sent.was_scheduled_before);
}

#[tokio::test(start_paused = true)]
async fn too_many_schedules_are_refused_until_others_are_over() {
    let aws = TestAws::new();
    let queue = aws.queue("reminders").create();
    let sender = sender(&aws, &queue).schedules(schedules(&aws).at_most(2));
    let messages = || (0..3).map(|number| NewMessage::text(number.to_string()).delay(DAY));
    let results = sender.send_all(messages()).await;
    assert!(matches!(&results[..], [Ok(_), Ok(_), Err(SendError::Invalid(_))]), "{results:?}");
    run(&aws, &queue, 2 * DAY).await;
    assert!(sender.send_all(messages().take(2)).await.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_was_not_made_does_not_count() {
    let aws = TestAws::new();
    let queue = aws.queue("reminders").create();
    let sender = sender(&aws, &queue).schedules(schedules(&aws).at_most(1));
    let message = |id: &str| NewMessage::text("later").delay(DAY).deduplication(id);
    let mut is_first = true;
    aws.faults(move |_, _| std::mem::take(&mut is_first).then_some(Fault::Denied));
    assert!(matches!(sender.send(message("a")).await, Err(SendError::Denied(_))));
    assert!(sender.send(message("b")).await.unwrap().is_scheduled);
}

#[tokio::test(start_paused = true)]
async fn a_run_until_idle_waits_for_the_schedules_of_its_queue_only() {
    let aws = TestAws::new();
    let [queue, other] = ["reminders", "others"].map(|name| aws.queue(name).create());
    scheduling(&aws, &other).send(NewMessage::json("A-1").unwrap().delay(60 * DAY)).await.unwrap();
    scheduling(&aws, &queue).send(NewMessage::json("A-1").unwrap().delay(DAY)).await.unwrap();
    let consumer = Consumer::new(async |_: String| Ok::<_, Failure>(())).sqs(aws.sqs());
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    assert_eq!(queue.messages()[0].done().attempts, 1);
    assert!(aws.elapsed() < 2 * DAY);
}

#[tokio::test(start_paused = true)]
async fn without_schedules_a_long_delay_is_refused() {
    let aws = TestAws::new();
    let queue = aws.queue("reminders").create();
    let error = sender(&aws, &queue).send(NewMessage::text("later").delay(DAY)).await.unwrap_err();
    let expected = "the message was not sent: delay is 86400, allowed: 0 to 900 seconds";
    assert_eq!(error.to_string(), expected);
}

/// On the clock of `redrive local`, where the hour passes at once.
#[tokio::test]
async fn a_local_aws_sends_what_is_scheduled() {
    let queues = vec![QueueConfig { name: "reminders".into(), attributes: [].into() }];
    let local =
        Local::start(LocalConfig { queues, speed: Speed::Max, ..LocalConfig::default() }).await.unwrap();
    let credentials = Credentials::new("test", "test", None, None, "test");
    let http = aws_smithy_http_client::Builder::new().build_http();
    let scheduler = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials.clone())
        .endpoint_url(local.endpoint_url())
        .http_client(http.clone());
    let sqs = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(credentials)
        .endpoint_url(local.endpoint_url())
        .http_client(http);
    let scheduler = aws_sdk_scheduler::Client::from_conf(scheduler.build());
    let sqs = aws_sdk_sqs::Client::from_conf(sqs.build());
    let url = local.queue_url("reminders");
    let schedules = Schedules::new(scheduler, "arn:aws:iam::123456789012:role/schedules");
    let message = NewMessage::text("tea").delay(Duration::from_secs(3_600)).attribute("channel", "web");
    Sender::new(sqs.clone(), &url).schedules(schedules).send(message).await.unwrap();
    let receive = sqs.receive_message().queue_url(&url).message_attribute_names("All").wait_time_seconds(20);
    let received = receive.send().await.unwrap().messages.unwrap_or_default();
    assert_eq!(received[0].body(), Some("tea"));
    assert_eq!(received[0].message_attributes().unwrap()["channel"].string_value(), Some("web"));
    assert!(local.stop().await.simulated >= Duration::from_secs(3_600));
}
