//! Tests of the clock at all speeds.

use std::time::UNIX_EPOCH;

use tokio::time::Instant;

use super::*;

const START: SystemTime = UNIX_EPOCH;

fn at(seconds: u64) -> SystemTime {
    START + Duration::from_secs(seconds)
}

fn seconds(clock: &Clock) -> f64 {
    clock.now().duration_since(START).unwrap().as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn idle_time_passes_as_many_times_faster_as_asked() {
    let clock = Clock::new(Speed::Times(60.0), START);
    let real = Instant::now();
    clock.pass(Some(at(600)), at(100_000), || false).await;
    assert_eq!(real.elapsed().as_secs(), 10);
    assert!((600.0..601.0).contains(&seconds(&clock)));
}

#[tokio::test(start_paused = true)]
async fn while_something_runs_time_is_real_at_any_speed() {
    for speed in [Speed::Times(60.0), Speed::Max] {
        let clock = Clock::new(speed, START);
        let _running = clock.running();
        let real = Instant::now();
        clock.pass(Some(at(5)), at(100_000), || false).await;
        assert_eq!(real.elapsed().as_secs(), 5, "{speed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleep_goes_on_at_the_new_pace_when_the_pace_changes() {
    let clock = Clock::new(Speed::Times(60.0), START);
    let running = clock.running();
    let real = Instant::now();
    let sleep = tokio::spawn({
        let clock = clock.clone();
        async move { clock.sleep_until(at(62)).await }
    });
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(running);
    sleep.await.unwrap();
    assert_eq!(real.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn hours_are_jumped_over_at_once_but_no_sleeper_is() {
    let clock = Clock::new(Speed::Max, START);
    let real = Instant::now();
    let sleepers: Vec<_> = [30, 10, 20]
        .map(|wake| {
            let clock = clock.clone();
            tokio::spawn(async move {
                clock.sleep_until(at(wake)).await;
                (wake, seconds(&clock))
            })
        })
        .into();
    tokio::task::yield_now().await;
    clock.pass(Some(at(36_000)), at(100_000), || false).await;
    assert!(real.elapsed().is_zero());
    for sleeper in sleepers {
        let (wake, woken) = sleeper.await.unwrap();
        assert_eq!(wake as f64, woken);
    }
    assert_eq!(seconds(&clock), 36_000.0);
}

#[tokio::test(start_paused = true)]
async fn a_jump_stops_where_it_has_to() {
    let clock = Clock::new(Speed::Max, START);
    let _sleeper = clock.sleeper(at(500));
    clock.pass(None, at(60), || false).await;
    assert_eq!(seconds(&clock), 60.0);
    clock.pass(Some(at(1_000)), at(120), || false).await;
    assert_eq!(seconds(&clock), 120.0);
}

#[tokio::test(start_paused = true)]
async fn waiting_is_skipped_on_demand_but_no_stop_is() {
    let clock = Clock::new(Speed::Times(1.0), START);
    let real = Instant::now();
    let skipping = clock.clone();
    let skipped = tokio::spawn(async move { skipping.skip(Duration::from_secs(150)).await });
    tokio::task::yield_now().await;
    for stop in [60, 120] {
        clock.pass(None, at(stop), || false).await;
        assert_eq!(seconds(&clock), stop as f64);
    }
    assert!(!skipped.is_finished());
    clock.pass(Some(at(150)), at(180), || false).await;
    skipped.await.unwrap();
    assert_eq!((seconds(&clock), real.elapsed().as_secs()), (150.0, 0));
    clock.pass(None, at(180), || false).await;
    assert_eq!(real.elapsed().as_secs(), 30, "then time is real again");
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_at_the_new_speed_when_the_speed_changes() {
    let clock = Clock::new(Speed::Times(1.0), START);
    let real = Instant::now();
    let changing = clock.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        changing.set(Speed::Times(60.0), false);
        tokio::time::sleep(Duration::from_secs(10)).await;
        changing.set(Speed::Max, false);
    });
    clock.pass(Some(at(36_000)), at(100_000), || false).await;
    assert_eq!((seconds(&clock), real.elapsed().as_secs()), (36_000.0, 20));
}

#[tokio::test(start_paused = true)]
async fn a_held_clock_stands_still_unless_something_runs_or_waiting_is_skipped() {
    for speed in [Speed::Times(60.0), Speed::Max] {
        let clock = Clock::new(speed, START);
        clock.set(speed, true);
        let waited =
            tokio::time::timeout(Duration::from_secs(9), clock.pass(Some(at(50)), at(60), || false)).await;
        assert_eq!((waited.is_err(), seconds(&clock)), (true, 0.0), "{speed:?}");
        let running = clock.running();
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(running);
        assert_eq!(seconds(&clock), 2.0, "{speed:?}");
        let skipping = clock.clone();
        let skipped = tokio::spawn(async move { skipping.skip(Duration::from_secs(8)).await });
        tokio::task::yield_now().await;
        let waited =
            tokio::time::timeout(Duration::from_secs(9), clock.pass(Some(at(50)), at(60), || false)).await;
        skipped.await.unwrap();
        assert_eq!((waited.is_err(), seconds(&clock)), (true, 10.0), "{speed:?}");
        clock.set(speed, false);
        clock.pass(Some(at(50)), at(60), || false).await;
        assert!((50.0..51.0).contains(&seconds(&clock)), "{speed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn time_stands_still_when_nothing_is_to_come() {
    let clock = Clock::new(Speed::Max, START);
    let waited =
        tokio::time::timeout(Duration::from_secs(3_600), clock.pass(None, at(100_000), || false)).await;
    assert!(waited.is_err());
    assert_eq!(seconds(&clock), 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_timestamp_keeps_its_age_on_the_other_clock() {
    let clock = Clock::new(Speed::Max, at(1_000));
    clock.pass(Some(at(5_000)), at(100_000), || false).await;
    assert_eq!(clock.to_real(at(4_990), at(1_003)), at(993));
}

#[tokio::test(start_paused = true)]
async fn while_clients_hold_messages_time_is_no_faster_than_real() {
    for (speed, real_seconds) in
        [(Speed::Max, 30), (Speed::Times(60.0), 31), (Speed::Times(0.5), 180), (Speed::Times(1.0), 90)]
    {
        let clock = Clock::new(speed, START);
        clock.keep_real_until(Some(at(30)));
        let real = Instant::now();
        clock.pass(Some(at(90)), at(100_000), || false).await;
        assert_eq!((real.elapsed().as_secs(), seconds(&clock).round()), (real_seconds, 90.0), "{speed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn time_jumps_again_after_clients_let_go_or_during_a_skip() {
    let clock = Clock::new(Speed::Max, START);
    clock.keep_real_until(Some(at(30)));
    let real = Instant::now();
    let releasing = clock.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        releasing.keep_real_until(None);
    });
    clock.pass(Some(at(600)), at(100_000), || false).await;
    assert_eq!((real.elapsed().as_secs(), seconds(&clock)), (5, 600.0));
    clock.keep_real_until(Some(at(700)));
    let skipping = clock.clone();
    let skipped = tokio::spawn(async move { skipping.skip(Duration::from_secs(50)).await });
    tokio::task::yield_now().await;
    let waited = tokio::time::timeout(Duration::from_secs(3), clock.pass(None, at(100_000), || false)).await;
    skipped.await.unwrap();
    assert_eq!((waited.is_err(), seconds(&clock)), (true, 653.0));
}

#[tokio::test(start_paused = true)]
async fn time_does_not_jump_to_what_is_outdated() {
    let clock = Clock::new(Speed::Max, at(0));
    clock.keep_real_until(Some(at(480)));
    let outdated = std::cell::Cell::new(false);
    let release = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        outdated.set(true);
        clock.keep_real_until(None);
    };
    tokio::join!(clock.pass(Some(at(480)), at(1_000), || outdated.get()), release);
    assert_eq!(clock.now(), at(1));
}
