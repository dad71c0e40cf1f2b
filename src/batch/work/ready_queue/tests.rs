use super::*;

const PATIENCE: Duration = Duration::from_millis(1);

fn board() -> (Board, Instant) {
    let now = Instant::now();
    (Board::new(1, now + Duration::from_secs(60)), now)
}

#[tokio::test]
async fn a_lane_that_is_added_while_the_last_runner_leaves_is_started() {
    let (board, now) = board();
    let (first, second) = (0..1, 1..2);
    board.add(vec![first]);
    let seat = board.seat().unwrap();
    assert_eq!(board.next_lane(now), Some(0..1));
    assert!(board.begin(seat, 0..1, now));
    board.finish(seat, Outcome::TimedOut, None);
    assert_eq!(board.next_lane(now), None, "the runner finds nothing more");
    board.add(vec![second]);
    assert_eq!(board.seat(), None, "it still counts");
    board.leave(seat, || Outcome::TimedOut, now);
    assert!(!board.is_idle());
    assert_eq!(board.slow_at(PATIENCE, now), Some((now, true)));
    assert_eq!(board.seat(), Some(seat), "a place is used again");
}

#[tokio::test]
async fn only_what_has_a_thread_is_stuck_and_the_others_are_not_polled_again() {
    let now = Instant::now();
    let board = Board::new(2, now + Duration::from_secs(60));
    board.add(vec![0..1, 1..2]);
    let seats = [board.seat().unwrap(), board.seat().unwrap()];
    for seat in seats {
        let lane = board.next_lane(now).unwrap();
        assert!(board.begin(seat, lane, now));
    }
    assert!(!board.wait(seats[0], Waker::noop()), "it waits for something");
    board.close();
    let given_up: Vec<_> = board.give_up(now).into_iter().map(|it| (it.at, it.outcome)).collect();
    assert!(matches!(given_up[..], [(0, Outcome::TimedOut), (1, Outcome::Stuck)]), "{given_up:?}");
    assert!(board.is_idle() && !board.resume(seats[0]));
    seats.into_iter().for_each(|seat| board.leave(seat, || Outcome::TimedOut, now));
    let (worked, is_idle) = board.take();
    assert!(worked.is_empty() && is_idle);
}
