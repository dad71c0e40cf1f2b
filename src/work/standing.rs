//! What is known of each message of a chunk, and its outcome in the end.

use crate::engine::Outcome;

#[derive(Debug)]
pub(super) enum Standing {
    /// Nothing is ruled. This is its outcome if no call says otherwise.
    Open(Outcome),
    /// The handler ruled on it.
    Ruled(Outcome),
    /// It could not be fetched or decoded, and the handler did not get it.
    Unread(Outcome),
    /// It was open when a call ended.
    Called(Outcome),
}

/// Which messages of a lane a call may take, or has taken and left open: those that are not behind a failed one.
pub(super) fn open<'a>(lane: impl Iterator<Item = &'a Standing>) -> impl Iterator<Item = bool> {
    let mut is_stopped = false;
    lane.map(move |standing| {
        if let Standing::Ruled(outcome) | Standing::Unread(outcome) | Standing::Called(outcome) = standing {
            is_stopped |= !outcome.lets_the_lane_go_on();
        }
        matches!(standing, Standing::Open(_)) && !is_stopped
    })
}

/// Which messages of a lane a handler may still work on: open ones that it got.
pub(super) fn held<'a>(lane: impl Iterator<Item = &'a Standing>) -> impl Iterator<Item = bool> {
    let mut is_withheld = false;
    lane.map(move |standing| {
        if let Standing::Unread(outcome) = standing {
            is_withheld |= !outcome.lets_the_lane_go_on();
        }
        matches!(standing, Standing::Open(_)) && !is_withheld
    })
}

/// The outcomes of a lane. A failed message stops those behind it, except such as were ruled on or failed in the same call.
pub(super) fn outcomes(lane: impl Iterator<Item = Standing>) -> impl Iterator<Item = Outcome> {
    let (mut is_stopped, mut is_disturbed) = (false, false);
    lane.map(move |standing| {
        let outcome = match standing {
            Standing::Ruled(outcome) | Standing::Called(outcome) => outcome,
            Standing::Open(outcome) => {
                is_disturbed |= !outcome.lets_the_lane_go_on();
                return if is_stopped { Outcome::NotStarted } else { outcome };
            }
            Standing::Unread(_) if is_stopped || is_disturbed => Outcome::NotStarted,
            Standing::Unread(outcome) => outcome,
        };
        is_stopped |= !outcome.lets_the_lane_go_on();
        outcome
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Failure;

    fn failed(text: &str) -> Outcome {
        Outcome::Failed(Failure::from(text.to_owned()).reduce(None))
    }

    fn named(outcome: &Outcome) -> &'static str {
        match outcome {
            Outcome::Done => "done",
            Outcome::Failed(fault) if fault.error == "own" => "own",
            Outcome::Failed(_) => "whole",
            Outcome::Stuck => "stuck",
            Outcome::NotStarted => "not started",
            Outcome::Panicked { .. } | Outcome::TimedOut | Outcome::Interrupted | Outcome::LeaseLost => {
                "other"
            }
        }
    }

    fn ended(lane: Vec<Standing>) -> Vec<&'static str> {
        outcomes(lane.into_iter()).map(|outcome| named(&outcome)).collect()
    }

    #[test]
    fn a_failed_message_stops_the_open_ones_behind_it_and_no_other() {
        use Standing::{Called, Open, Ruled, Unread};
        let open = || Open(Outcome::NotStarted);
        let rows = [
            (vec![Ruled(failed("own")), open(), Ruled(Outcome::Done)], ["own", "not started", "done"]),
            (vec![Called(Outcome::Done), Unread(failed("own")), open()], ["done", "own", "not started"]),
            (
                vec![Called(failed("whole")), Called(failed("whole")), open()],
                ["whole", "whole", "not started"],
            ),
            (
                vec![Ruled(failed("own")), Unread(failed("own")), open()],
                ["own", "not started", "not started"],
            ),
            // What waited for another try keeps the failure of its call, unless one before it failed since.
            (
                vec![Called(Outcome::Done), Open(failed("whole")), Open(failed("whole"))],
                ["done", "whole", "whole"],
            ),
            (
                vec![Called(failed("own")), Open(failed("whole")), Open(failed("whole"))],
                ["own", "not started", "not started"],
            ),
            // A blocked handler may still be working on it.
            (vec![Ruled(failed("own")), Called(Outcome::Stuck), open()], ["own", "stuck", "not started"]),
        ];
        for (lane, expected) in rows {
            let described = format!("{lane:?}");
            assert_eq!(ended(lane), expected, "{described}");
        }
    }

    fn any_standing() -> impl Strategy<Value = (u8, bool)> {
        (0_u8..4, any::<bool>())
    }

    proptest! {
        #[test]
        fn what_was_ruled_stands_and_nothing_open_is_done(lane in prop::collection::vec(any_standing(), 0..8)) {
            let make = |&(kind, fails): &(u8, bool)| {
                let outcome = if fails { failed("own") } else { Outcome::Done };
                match kind {
                    0 => Standing::Open(if fails { failed("whole") } else { Outcome::NotStarted }),
                    1 => Standing::Ruled(outcome),
                    2 => Standing::Unread(failed("own")),
                    _ => Standing::Called(outcome),
                }
            };
            let standings: Vec<_> = lane.iter().map(make).collect();
            let may: Vec<_> = open(standings.iter()).collect();
            let ended = ended(standings);
            for (at, &(kind, fails)) in lane.iter().enumerate() {
                let stopped = lane[..at].iter().any(|&(kind, fails)| kind == 2 || (kind != 0 && fails));
                prop_assert_eq!(may[at], kind == 0 && !stopped);
                match kind {
                    0 => prop_assert_eq!(ended[at], if fails && !stopped { "whole" } else { "not started" }),
                    1 | 3 => prop_assert_eq!(ended[at], if fails { "own" } else { "done" }),
                    _ => prop_assert!(["own", "not started"].contains(&ended[at])),
                }
            }
        }
    }
}
