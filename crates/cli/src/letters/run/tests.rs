//! Tests runs with a lease that is so short that it ends, against an SQS on this machine.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{Config, Local, QueueConfig};

use super::batch::Deletable;
use super::*;
use crate::aws::Place;
use crate::find::Queue;
use crate::history::History;
use crate::journal::Journal;
use crate::letters::letter_run::Work;
use crate::letters::selection::Selection;
use crate::letters::tally::Tally;
use crate::sqs::Receivable;

const LEASE: Duration = Duration::from_secs(1);

async fn start() -> (Local, Aws, LetterRun) {
    let queue = |name: &str| QueueConfig { name: name.to_owned(), attributes: BTreeMap::new() };
    let config = Config {
        region: "eu-west-1".to_owned(),
        account: "123456789012".to_owned(),
        queues: vec![queue("dead"), queue("orders")],
        ..Config::default()
    };
    let mut local = Local::start(config).await.unwrap();
    drop(local.take_events());
    let (region, endpoint_url) = (Some("eu-west-1".to_owned()), Some(local.endpoint_url()));
    let aws = Aws::connect(&Place { region, endpoint_url, ..Place::default() }).await.unwrap();
    let (from, to) = (Queue::find(&aws, "dead").await.unwrap(), Queue::find(&aws, "orders").await.unwrap());
    aws.sqs().send_message().queue_url(&from.url).message_body("b").send().await.unwrap();
    let job = LetterRun {
        work: Work::Send(Route { to, named: true }),
        from: Receivable::if_nothing_moves(from).unwrap(),
        selection: Selection::default(),
        allow_none: false,
        origin_senders: None,
        max_receive_count: None,
        journal: Journal::off(),
        history: History::off(),
        verb: "retry",
        sent_back: None,
        rate: None,
        dry_run: false,
        send_again: false,
        json: false,
    };
    (local, aws, job)
}

fn short_lease(aws: &Aws, job: &LetterRun) -> LetterLease {
    LetterLease::new(aws.sqs(), job.from.url.clone(), LEASE, LEASE)
}

async fn until_it_lapses() {
    tokio::time::sleep(LEASE + Duration::from_millis(100)).await;
}

async fn send(run: &Run<'_>, letters: Vec<Letter>) -> Vec<Deletable> {
    run.send_at_the_rate(letters, vec![], run.job.work.route().unwrap()).await
}

async fn visible_in(aws: &Aws, queue: &str) -> u64 {
    Queue::find(aws, queue).await.unwrap().visible()
}

#[tokio::test]
async fn a_letter_that_returned_before_its_delete_is_a_possible_duplicate() {
    let (local, aws, job) = start().await;
    let lease = short_lease(&aws, &job);
    let run = Run::new(&aws, &job, Mode::Real, &lease);
    let letters = Letter::all(lease.receive(10, |_| ()).await.unwrap(), None);
    let sent = send(&run, letters).await;
    assert_eq!(lease.stop().on_its_way().len(), 1);
    until_it_lapses().await;
    assert_eq!(visible_in(&aws, "dead").await, 1, "anybody could have received it");
    run.delete(sent).await;
    assert_eq!((lease.count(), lease.stop().on_its_way().len()), (0, 0));
    let tally = run.state().reporter.tally.clone();
    let expected = Tally { done: 1, perhaps_taken: 1, ..Tally::default() };
    assert_eq!(tally, expected);
    assert_eq!(tally.problem(Operation::Send).unwrap(), "1 message may arrive twice");
    assert_eq!(tally.json()["possible_duplicates"], 1);
    assert_eq!((visible_in(&aws, "dead").await, visible_in(&aws, "orders").await), (0, 1));
    local.stop().await;
}

#[tokio::test]
async fn a_letter_that_came_back_before_its_send_is_not_sent() {
    let (local, aws, job) = start().await;
    let lease = short_lease(&aws, &job);
    let run = Run::new(&aws, &job, Mode::Real, &lease);
    let letters = Letter::all(lease.receive(10, |_| ()).await.unwrap(), None);
    until_it_lapses().await;
    assert!(send(&run, letters).await.is_empty());
    assert_eq!((lease.count(), lease.stop().on_its_way().len()), (1, 0));
    let tally = run.state().reporter.tally.clone();
    assert_eq!(tally, Tally { failed: 1, ..Tally::default() });
    assert_eq!((visible_in(&aws, "dead").await, visible_in(&aws, "orders").await), (1, 0));
    local.stop().await;
}

#[tokio::test]
async fn an_unwanted_letter_that_came_back_is_not_deleted() {
    let (local, aws, job) = start().await;
    let lease = short_lease(&aws, &job);
    let run = Run::new(&aws, &job, Mode::Real, &lease);
    let letters = Letter::all(lease.receive(10, |_| ()).await.unwrap(), None);
    until_it_lapses().await;
    let unwanted = letters.into_iter().map(|letter| run.unwanted(letter)).collect();
    assert!(!run.delete(unwanted).await, "somebody else may have sent it");
    let tally = run.state().reporter.tally.clone();
    assert_eq!(tally, Tally { failed: 1, ..Tally::default() });
    assert_eq!(visible_in(&aws, "dead").await, 1);
    local.stop().await;
}

#[tokio::test]
async fn a_letter_that_was_received_again_is_deleted_by_its_newest_handle() {
    let (local, aws, job) = start().await;
    let lease = short_lease(&aws, &job);
    let run = Run::new(&aws, &job, Mode::Real, &lease);
    let letters = Letter::all(lease.receive(10, |_| ()).await.unwrap(), None);
    until_it_lapses().await;
    assert_eq!(lease.receive(10, |_| ()).await.unwrap().len(), 1);
    let sent = send(&run, letters).await;
    run.delete(sent).await;
    let tally = run.state().reporter.tally.clone();
    assert_eq!(tally, Tally { done: 1, ..Tally::default() });
    assert_eq!(Queue::find(&aws, "dead").await.unwrap().counted(), 0);
    local.stop().await;
}

#[tokio::test]
async fn a_letter_that_is_received_again_and_again_is_counted_once() {
    let (local, aws, job) = start().await;
    for mode in [Mode::DryRun, Mode::Real] {
        let lease = short_lease(&aws, &job);
        let run = Run::new(&aws, &job, mode, &lease);
        let mut received = Vec::new();
        for _ in 0..2 {
            received.push(Letter::all(lease.receive(10, |_| ()).await.unwrap(), None));
            until_it_lapses().await;
        }
        received.push(Letter::all(lease.receive(10, |_| ()).await.unwrap(), None));
        for letters in received {
            assert_eq!(letters.len(), 1);
            run.batch(letters).await;
        }
        let tally = run.state().reporter.tally.clone();
        assert_eq!(tally, Tally { done: 1, ..Tally::default() }, "{mode:?}");
        until_it_lapses().await;
    }
    assert_eq!((visible_in(&aws, "dead").await, visible_in(&aws, "orders").await), (0, 1));
    local.stop().await;
}

#[tokio::test]
async fn a_queue_that_is_gone_for_too_long_ends_the_run_with_its_totals() {
    let (local, aws, job) = start().await;
    let lease = short_lease(&aws, &job);
    let run = Run::new(&aws, &job, Mode::Real, &lease);
    let letters = Letter::all(lease.receive(10, |_| ()).await.unwrap(), None);
    run.batch(letters).await;
    local.stop().await;
    let problem = run.run(&aws).await.unwrap_err().to_string();
    assert!(problem.starts_with("gave up after "), "{problem}");
    assert!(problem.contains("could not receive from dead: no connection ("), "{problem}");
    let end = "; 1 letter was sent before; run it again for the rest";
    assert!(problem.ends_with(end), "{problem}");
}
