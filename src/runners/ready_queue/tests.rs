use redrive_sqs::MAX_ENTRIES;

use super::*;
use crate::message::invocation::Invocation;
use crate::message::record::BatchContext;
use crate::message::records::Records;

const SLOW: Duration = Duration::from_millis(1);

/// Ten messages of a batch.
fn begun(now: Instant) -> Arc<Begun> {
    let records: Vec<_> =
        (0..MAX_ENTRIES).map(|id| format!(r#"{{"messageId": "{id}", "body": "{{}}"}}"#)).collect();
    let event = format!(r#"{{"Records": [{}]}}"#, records.join(","));
    let context = BatchContext { invocation: Invocation::default(), ..BatchContext::for_tests() };
    Arc::new(Begun {
        key: BatchKey::default(),
        records: Arc::new(Records::read(event.into(), &context).unwrap()),
        order: (0..MAX_ENTRIES).collect(),
        began: now,
        until: now + Duration::from_secs(60),
        span: tracing::Span::none(),
        phase: Phase::default(),
        lease: None,
    })
}

fn queue(concurrency: usize) -> (ReadyQueue, Arc<Begun>, Instant) {
    let now = Instant::now();
    (ReadyQueue::new(concurrency, false, None), begun(now), now)
}

fn next_lane(queue: &ReadyQueue, now: Instant) -> Option<(Arc<Begun>, Lane)> {
    queue.next(now, |_, lanes| lanes.pop_front().unwrap())
}

fn next_messages(queue: &ReadyQueue, now: Instant) -> Option<Lane> {
    next_lane(queue, now).map(|(_, lane)| lane)
}

fn begin(queue: &ReadyQueue, slot: usize, (of, lane): &(Arc<Begun>, Lane), now: Instant) -> bool {
    queue.begin(slot, of, What::One(lane.start), now, Duration::ZERO)
}

#[tokio::test]
async fn a_lane_that_is_added_while_the_last_runner_leaves_is_started() {
    let (queue, of, now) = queue(1);
    let (first, second) = (0..1, 1..2);
    queue.add(&of, vec![first]);
    let slot = queue.claim_slot().unwrap();
    let lane = next_lane(&queue, now).unwrap();
    assert_eq!(lane.1, 0..1);
    assert!(begin(&queue, slot, &lane, now));
    assert!(queue.finish(slot, Outcome::TimedOut, None));
    assert_eq!(next_messages(&queue, now), None, "the runner finds nothing more");
    queue.add(&of, vec![second]);
    assert_eq!(queue.claim_slot(), None, "it still counts");
    queue.free_slot(slot, Outcome::TimedOut);
    assert_eq!(queue.slow_at(SLOW, now), Some((now, true)));
    assert_eq!(queue.claim_slot(), Some(slot), "a slot is used again");
}

#[tokio::test]
async fn only_a_polled_message_is_stuck_and_no_other_is_polled_again() {
    let (queue, of, now) = queue(2);
    queue.add(&of, vec![0..1, 1..2]);
    let slots = [queue.claim_slot().unwrap(), queue.claim_slot().unwrap()];
    for slot in slots {
        let lane = next_lane(&queue, now).unwrap();
        assert!(begin(&queue, slot, &lane, now));
    }
    assert!(!queue.wait(slots[0], Waker::noop()), "it waits for something");
    queue.cancel(&of);
    assert!(!queue.is_idle(of.key));
    let given_up: Vec<_> = queue.give_up(&of).into_iter().map(|it| (it.key.at, it.outcome)).collect();
    assert!(matches!(given_up[..], [(0, Outcome::TimedOut), (1, Outcome::Stuck)]), "{given_up:?}");
    assert!(queue.is_idle(of.key) && !queue.resume(slots[0]));
    for slot in slots {
        assert!(!queue.finish(slot, Outcome::Done, None), "it has an outcome already");
        queue.free_slot(slot, Outcome::TimedOut);
    }
    let (worked, unblocked) = queue.take();
    assert!(worked.is_empty());
    assert_eq!(unblocked, [of.key], "no thread of the batch is blocked any more");
}

/// Otherwise a batch would end although the rest of a group is still to run.
#[tokio::test]
async fn a_batch_is_not_idle_before_the_outcome_of_its_last_message_is_taken() {
    let (queue, of, now) = queue(1);
    queue.add(&of, std::iter::once(0..1).collect());
    let slot = queue.claim_slot().unwrap();
    assert!(next_lane(&queue, now).is_some_and(|lane| begin(&queue, slot, &lane, now)));
    assert!(queue.finish(slot, Outcome::Done, None));
    queue.free_slot(slot, Outcome::TimedOut);
    assert!(!queue.is_idle(of.key));
    assert!(queue.take().0.len() == 1 && queue.is_idle(of.key));
}

#[tokio::test]
async fn a_batch_that_is_stopped_begins_nothing_and_another_does() {
    let (queue, of, now) = queue(1);
    let other = Begun {
        key: BatchKey(1),
        records: Arc::clone(&of.records),
        order: Arc::clone(&of.order),
        span: of.span.clone(),
        phase: Phase::default(),
        lease: None,
        ..*of
    };
    queue.add(&of, vec![0..1, 1..2]);
    queue.add(&Arc::new(other), std::iter::once(2..3).collect());
    let slot = queue.claim_slot().unwrap();
    let lane = next_lane(&queue, now).unwrap();
    queue.stop(&of);
    assert!(!begin(&queue, slot, &lane, now));
    assert_eq!(next_messages(&queue, now), Some(2..3));
    assert!(queue.is_idle(of.key));
}
