use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::queue::NewMessage;

fn at(seconds: f64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs_f64(1_700_000_000.0 + seconds)
}

fn create(queues: &mut Sqs, name: &str, attributes: &[(&str, &str)]) {
    queues.create(name, &crate::queue::testing::map(attributes), at(0.0)).unwrap();
}

/// Creates the queues `a` and `b`, which share the dead-letter queue `dead` and allow one receive, and a queue `other`.
fn queues() -> Sqs {
    let mut queues = Sqs::new("eu-west-1", "123456789012");
    create(&mut queues, "dead", &[]);
    create(&mut queues, "other", &[]);
    let policy = format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":1}}"#, queues.arn("dead"));
    for name in ["a", "b"] {
        create(&mut queues, name, &[("RedrivePolicy", &policy), ("VisibilityTimeout", "0")]);
    }
    queues
}

fn send(queues: &mut Sqs, queue: &str, body: &str) {
    queues.send(queue, NewMessage { body: body.to_owned(), ..NewMessage::default() }, at(0.0)).unwrap();
}

/// Turns the messages of a queue into dead letters.
fn bury(queues: &mut Sqs, queue: &str) {
    queues.receive(queue, 10, None, at(0.0)).unwrap();
    assert!(queues.receive(queue, 10, None, at(0.0)).unwrap().is_empty());
}

/// Creates ten letters from `a`.
fn ten_letters() -> Sqs {
    let mut queues = queues();
    for number in 0..10 {
        send(&mut queues, "a", &number.to_string());
    }
    bury(&mut queues, "a");
    queues
}

fn start(queues: &mut Sqs, destination: Option<&str>, rate: Option<i64>) -> Result<String, AwsError> {
    let destination = destination.map(|name| queues.arn(name));
    queues.start_move(&queues.arn("dead"), destination, rate, at(0.0))
}

fn task(queues: &mut Sqs, seconds: f64) -> MoveTask {
    queues.moves_of(&queues.arn("dead"), at(seconds)).unwrap().remove(0)
}

fn visible(queues: &Sqs, queue: &str, seconds: f64) -> usize {
    queues.counts(queue, at(seconds)).unwrap().visible
}

#[test]
fn letters_move_one_by_one_at_the_rate_each_at_its_moment() {
    let mut queues = ten_letters();
    start(&mut queues, Some("other"), Some(2)).unwrap();
    assert_eq!(queues.next_change("other", at(0.0)), Some(at(0.5)));
    assert_eq!(visible(&queues, "other", 0.4), 0);
    assert_eq!(visible(&queues, "other", 1.5), 3);
    assert_eq!(task(&mut queues, 1.5).status, Status::Running);
    assert_eq!(queues.next_change("a", at(1.5)), Some(at(2.0)));
    let received = queues.receive("other", 10, None, at(2.0)).unwrap();
    let sent_at: Vec<_> = received.iter().map(|message| message.sent_at).collect();
    assert_eq!(sent_at, [at(0.5), at(1.0), at(1.5), at(2.0)]);
    assert_eq!(task(&mut queues, 5.0).status, Status::Completed);
    assert_eq!(queues.next_change("other", at(50.0)), None);
}

#[test]
fn a_look_ahead_changes_nothing() {
    let mut queues = ten_letters();
    start(&mut queues, Some("other"), None).unwrap();
    assert_eq!(visible(&queues, "other", 9.0), 10);
    assert_eq!(queues.attributes("other", at(9.0)).unwrap()["ApproximateNumberOfMessages"], "10");
    assert_eq!(visible(&queues, "other", 0.0), 0);
    queues.take_events();
    queues.receive("b", 1, None, at(9.0)).unwrap();
    assert_eq!(queues.take_events().len(), 20, "ten were sent and ten deleted");
}

#[test]
fn a_queue_has_one_active_task_and_lists_the_latest_ten_newest_first() {
    let mut queues = ten_letters();
    start(&mut queues, Some("other"), Some(1)).unwrap();
    let error = start(&mut queues, Some("other"), None).unwrap_err();
    assert!(error.to_string().starts_with("There is already a task running."), "{error}");
    let mut last = String::new();
    for round in 1..=15 {
        last = queues
            .start_move(&queues.arn("dead"), Some(queues.arn("other")), None, at(f64::from(round) * 20.0))
            .unwrap();
    }
    let tasks = queues.moves_of(&queues.arn("dead"), at(999.0)).unwrap();
    assert_eq!((tasks.len(), &tasks[0].id), (10, &last));
    assert_eq!(queues.moves.ended["dead"].len(), 10);
    queues.delete_queue("dead", at(999.0)).unwrap();
    assert!(queues.moves.ended.is_empty());
}
