//! An outage of hours.

use std::time::Duration;

use redrive_local::kit::Fault;
use tokio::time::sleep;

use crate::shop::{MINUTE, Shop};

/// `make explore` sends as many as docs/outages.md says.
const MESSAGES: usize = if option_env!("REDRIVE_EXPLORE").is_some() { 10_000 } else { 2_000 };

#[tokio::test(start_paused = true)]
async fn a_paused_function_is_done_minutes_after_four_hours() {
    for (disabling_takes, processes_last, most_calls) in [
        (Duration::ZERO, Duration::MAX, 200),
        (2 * MINUTE, Duration::MAX, 350),
        // Each pause is by processes that have never met the outage.
        (Duration::ZERO, 3 * MINUTE, 1_000),
    ] {
        let mut shop = Shop::with_bank_down_for(240 * MINUTE);
        shop.processes_last = processes_last;
        shop.run(MESSAGES, disabling_takes).await;
        let (calls, recovery) = shop.bank.report();
        println!(
            "{disabling_takes:?}, {processes_last:?}: {calls} calls while it was down, done {recovery:?} after"
        );
        assert_eq!(shop.dead(), 0);
        assert!(calls <= most_calls, "{calls} calls");
        assert!(recovery <= 6 * MINUTE, "{recovery:?}");
        let calls = shop.calls();
        let (found, paused) =
            (calls["lambda.ListEventSourceMappings"], calls["lambda.UpdateEventSourceMapping"] / 2);
        assert!(found <= paused + 5, "who does not pause does not ask Lambda: {found} of {paused}");
        assert_eq!(shop.mapping().await, ("Enabled".to_owned(), None));
    }
}

#[tokio::test(start_paused = true)]
async fn the_mapping_rests_starts_slowly_and_is_restored() {
    let shop = Shop::with_bank_down_for(8 * MINUTE);
    let run = shop.run(400, Duration::ZERO);
    let states = async {
        let mut states = Vec::new();
        for _ in 0..18 {
            sleep(MINUTE).await;
            let state = shop.mapping().await;
            if !state.0.ends_with("ing") && states.last() != Some(&state) {
                states.push(state);
            }
        }
        states
    };
    let ((), states) = tokio::join!(run, states);
    let states: Vec<_> = states.iter().map(|(state, limit)| (state.as_str(), *limit)).collect();
    assert_eq!(
        states,
        [
            ("Enabled", None),
            ("Disabled", None),
            // The bank is still down after the first rest.
            ("Disabled", Some(2)),
            ("Enabled", Some(2)),
            ("Enabled", None),
        ]
    );
    assert_eq!(shop.schedules().await, Vec::<String>::new(), "they delete themselves");
}

#[tokio::test(start_paused = true)]
async fn a_function_without_a_right_goes_on_as_without_pausing() {
    for refused in ["redrive-", "event-source-mappings"] {
        let shop = Shop::with_bank_down_for(30 * MINUTE);
        // The paths of Scheduler's calls end with the name of a schedule, those of Lambda's with this or with an id.
        let is_refused =
            move |last: &str| last.starts_with(refused) || (refused.len() > 8 && last.len() == 36);
        shop.aws.faults(move |last, _| is_refused(last).then_some(Fault::Denied));
        shop.run(200, Duration::ZERO).await;
        assert_eq!(
            (shop.dead(), shop.calls().get("lambda.UpdateEventSourceMapping")),
            (0, None),
            "{refused}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_to_its_calls_the_mapping_is_restored() {
    let late = Fault::Slow(Duration::from_secs(7));
    for fault in [Fault::Refused, Fault::Throttled, Fault::AnswerLost, Fault::Twice, Fault::Blank, late] {
        for turn in 0..3 {
            let shop = Shop::with_bank_down_for(30 * MINUTE);
            let is_of_pause = |last: &str| last.starts_with("redrive-") || last.len() == 36;
            let faulty = move |last: &str, number| is_of_pause(last) && number % 3 == turn;
            shop.aws.faults(move |last, number| faulty(last, number).then_some(fault));
            shop.run(200, MINUTE).await;
            shop.aws.faults(|_, _| None);
            assert_eq!(shop.dead(), 0, "{fault:?} {turn}");
            assert_eq!(
                (shop.mapping().await.1, shop.schedules().await),
                (None, Vec::new()),
                "{fault:?} {turn}"
            );
        }
    }
}
