use super::*;

const SLOW: Duration = Duration::from_millis(1);

fn queue() -> (ReadyQueue, Instant) {
    let now = Instant::now();
    (ReadyQueue::new(1, now + Duration::from_secs(60), now), now)
}

#[tokio::test]
async fn a_lane_that_is_added_while_the_last_runner_leaves_is_started() {
    let (queue, now) = queue();
    let (first, second) = (0..1, 1..2);
    queue.add(vec![first]);
    let slot = queue.claim_slot().unwrap();
    assert_eq!(queue.next_lane(now), Some(0..1));
    assert!(queue.begin(slot, 0..1, now));
    queue.finish(slot, Outcome::TimedOut, None);
    assert_eq!(queue.next_lane(now), None, "the runner finds nothing more");
    queue.add(vec![second]);
    assert_eq!(queue.claim_slot(), None, "it still counts");
    queue.free_slot(slot, || Outcome::TimedOut);
    assert!(!queue.is_idle());
    assert_eq!(queue.slow_at(SLOW, now), Some((now, true)));
    assert_eq!(queue.claim_slot(), Some(slot), "a slot is used again");
}

#[tokio::test]
async fn only_a_message_that_is_polled_is_stuck_and_the_others_are_not_polled_again() {
    let now = Instant::now();
    let queue = ReadyQueue::new(2, now + Duration::from_secs(60), now);
    queue.add(vec![0..1, 1..2]);
    let slots = [queue.claim_slot().unwrap(), queue.claim_slot().unwrap()];
    for slot in slots {
        let lane = queue.next_lane(now).unwrap();
        assert!(queue.begin(slot, lane, now));
    }
    assert!(!queue.wait(slots[0], Waker::noop()), "it waits for something");
    queue.close();
    let given_up: Vec<_> = queue.give_up().into_iter().map(|it| (it.at, it.outcome)).collect();
    assert!(matches!(given_up[..], [(0, Outcome::TimedOut), (1, Outcome::Stuck)]), "{given_up:?}");
    assert!(queue.is_idle() && !queue.resume(slots[0]));
    slots.into_iter().for_each(|slot| queue.free_slot(slot, || Outcome::TimedOut));
    let (worked, is_idle) = queue.take();
    assert!(worked.is_empty() && is_idle);
}

/// Else a batch of a worker's would end although the rest of a group is still to run.
#[tokio::test]
async fn a_queue_is_not_idle_before_the_outcome_of_its_last_message_is_taken() {
    let (queue, now) = queue();
    queue.add(std::iter::once(0..1).collect());
    let slot = queue.claim_slot().unwrap();
    assert!(queue.next_lane(now).is_some_and(|lane| queue.begin(slot, lane, now)));
    queue.finish(slot, Outcome::Done, None);
    queue.free_slot(slot, || Outcome::TimedOut);
    assert!(!queue.is_idle());
    let (worked, is_idle) = queue.take();
    assert!(worked.len() == 1 && is_idle && queue.is_idle());
}
