use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::queue::{Counts, NewMessage};

fn at(seconds: f64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs_f64(1_700_000_000.0 + seconds)
}

fn create(queues: &mut Sqs, name: &str, attributes: &[(&str, &str)]) {
    let fifo = redrive_sqs::is_fifo(name).then_some(("FifoQueue", "true"));
    let attributes = attributes.iter().copied().chain(fifo);
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    queues.create(name, &attributes, at(0.0)).unwrap();
}

/// The queues `a` and `b`, which share the dead-letter queue `dead` and allow one receive, and a queue `other`.
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

/// Makes a dead letter of what a queue holds.
fn bury(queues: &mut Sqs, queue: &str) {
    queues.receive(queue, 10, None, at(0.0)).unwrap();
    assert!(queues.receive(queue, 10, None, at(0.0)).unwrap().is_empty());
}

/// Ten letters from `a`.
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
fn a_letter_that_was_sent_there_directly_has_no_source_to_go_back_to() {
    let mut queues = queues();
    send(&mut queues, "dead", "direct");
    start(&mut queues, None, None).unwrap();
    let failed = task(&mut queues, 1.0);
    assert_eq!(failed.status, Status::Failed("CouldNotDetermineMessageSource".to_owned()));
    assert_eq!((failed.moved, visible(&queues, "dead", 1.0)), (0, 1));
    queues.start_move(&queues.arn("dead"), Some(queues.arn("other")), None, at(1.0)).unwrap();
    assert_eq!(visible(&queues, "other", 2.0), 1);
}

#[test]
fn a_cancelled_task_stops_before_its_next_message_and_takes_nothing_back() {
    let mut queues = ten_letters();
    let (arn, id) = (queues.arn("dead"), start(&mut queues, Some("other"), Some(1)).unwrap());
    assert_eq!(queues.cancel_move(&arn, &id, at(2.5)), Ok(2));
    assert_eq!(task(&mut queues, 2.9).status, Status::Cancelling);
    assert_eq!(queues.cancel_move(&arn, &id, at(2.9)).unwrap_err().code(), "InvalidParameterValue");
    let cancelled = task(&mut queues, 3.0);
    assert_eq!((cancelled.status, cancelled.moved), (Status::Cancelled, 2));
    assert_eq!(queues.counts("other", at(99.0)), Some(Counts { visible: 2, in_flight: 0, delayed: 0 }));
    let error = queues.cancel_move(&arn, "another", at(3.0)).unwrap_err();
    assert_eq!((error.status(false).as_u16(), error.to_string().as_str()), (404, "Task does not exist."));
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

#[test]
fn fifo_letters_keep_their_group_and_deduplication_id_and_their_order() {
    let mut queues = Sqs::new("eu-west-1", "123456789012");
    create(&mut queues, "dead.fifo", &[]);
    create(&mut queues, "other.fifo", &[]);
    let policy = format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":1}}"#, queues.arn("dead.fifo"));
    create(&mut queues, "a.fifo", &[("RedrivePolicy", &policy), ("VisibilityTimeout", "0")]);
    let id = |id: &str| Some(id.to_owned());
    for body in ["1", "2"] {
        let ids = NewMessage { group_id: id("g"), deduplication_id: id(body), ..NewMessage::default() };
        queues.send("a.fifo", NewMessage { body: body.to_owned(), ..ids }, at(0.0)).unwrap();
    }
    let ids: Vec<_> =
        queues.receive("a.fifo", 10, None, at(0.0)).unwrap().into_iter().map(|it| it.message_id).collect();
    bury(&mut queues, "a.fifo");
    queues.start_move(&queues.arn("dead.fifo"), Some(queues.arn("other.fifo")), Some(1), at(0.0)).unwrap();
    let moved = queues.receive("other.fifo", 10, None, at(2.0)).unwrap();
    let moved: Vec<_> = moved
        .into_iter()
        .map(|it| (it.body, it.group_id.unwrap_or_default(), it.deduplication_id.unwrap_or_default()))
        .collect();
    let expected = |body: &str, id: &str| (body.to_owned(), "g".to_owned(), id.to_owned());
    assert_eq!(moved, [expected("1", &ids[0]), expected("2", &ids[1])]);
}
