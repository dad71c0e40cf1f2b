use proptest::prelude::*;

use super::*;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Performs the step that is due, with this result, and returns it.
fn act(plan: &mut ProtectionPlan, now: Duration, is_ok: bool) -> ProtectionStep {
    let step = plan.next(now);
    if step == ProtectionStep::Protect {
        plan.request_begins();
    }
    if matches!(step, ProtectionStep::Protect | ProtectionStep::Release) {
        plan.answered(step, is_ok, now);
    }
    step
}

#[test]
fn protection_begins_with_the_first_message_and_ends_10_s_after_the_last() {
    let mut plan = ProtectionPlan::default();
    assert_eq!(act(&mut plan, at(1), true), ProtectionStep::Wait, "nothing to protect");
    plan.in_hand(3, at(2));
    assert_eq!(act(&mut plan, at(2), true), ProtectionStep::Protect);
    assert_eq!(act(&mut plan, at(3), true), ProtectionStep::WaitUntil(at(1_802)));
    plan.in_hand(0, at(4));
    assert_eq!(act(&mut plan, at(4), true), ProtectionStep::WaitUntil(at(14)));
    plan.in_hand(1, at(13));
    assert_eq!(
        act(&mut plan, at(13), true),
        ProtectionStep::WaitUntil(at(1_802)),
        "no call for the next message"
    );
    plan.in_hand(0, at(15));
    assert_eq!(act(&mut plan, at(24), true), ProtectionStep::WaitUntil(at(25)));
    assert_eq!(act(&mut plan, at(25), true), ProtectionStep::Release);
    assert_eq!(act(&mut plan, at(25), true), ProtectionStep::Wait);
    assert!(!plan.may_be_protected());
    plan.in_hand(1, at(26));
    assert_eq!(act(&mut plan, at(26), true), ProtectionStep::Protect);
}

#[test]
fn protection_is_renewed_before_it_ends() {
    let mut plan = ProtectionPlan::default();
    plan.in_hand(1, at(0));
    assert_eq!(act(&mut plan, at(0), true), ProtectionStep::Protect);
    for renewed in [1_800, 3_600, 5_400] {
        assert_eq!(act(&mut plan, at(renewed - 1), true), ProtectionStep::WaitUntil(at(renewed)));
        assert_eq!(act(&mut plan, at(renewed), true), ProtectionStep::Protect);
    }
}

#[test]
fn failures_are_reported_once_per_streak_and_retried_ever_later() {
    let mut plan = ProtectionPlan::default();
    plan.in_hand(1, at(0));
    let mut now = Duration::ZERO;
    let mut told = 0;
    for pause in [2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        assert_eq!(plan.next(now), ProtectionStep::Protect);
        plan.request_begins();
        told += usize::from(plan.answered(ProtectionStep::Protect, false, now));
        now += at(pause);
        assert_eq!(plan.next(now - Duration::from_millis(1)), ProtectionStep::WaitUntil(now));
    }
    assert_eq!(told, 1);
    assert!(plan.may_be_protected(), "a call without an answer may have been granted");
    assert_eq!(act(&mut plan, now, true), ProtectionStep::Protect);
    plan.in_hand(0, now);
    now += at(10);
    assert_eq!(plan.next(now), ProtectionStep::Release);
    assert!(plan.answered(ProtectionStep::Release, false, now), "a streak of its own");
    assert_eq!(plan.next(now), ProtectionStep::WaitUntil(now + at(2)));
}

proptest! {
    /// Messages come and go at random, and calls fail at random.
    #[test]
    fn calls_are_rare_and_a_busy_task_is_protected_where_calls_succeed(
        changes in prop::collection::vec((0_u64..40_000, 0_usize..3, any::<bool>()), 1..200),
        fails in any::<bool>(),
    ) {
        let mut plan = ProtectionPlan::default();
        let (mut now, mut calls) = (Duration::ZERO, Vec::new());
        for (wait, in_hand, is_ok) in changes {
            let is_ok = is_ok || !fails;
            let until = now + Duration::from_millis(wait);
            while let ProtectionStep::WaitUntil(due) = plan.next(now) {
                if due > until {
                    break;
                }
                prop_assert!(due > now, "time goes on");
                now = due;
                calls.push((now, act(&mut plan, now, is_ok)));
            }
            now = until;
            plan.in_hand(in_hand, now);
            for _ in 0..2 {
                let step = act(&mut plan, now, is_ok);
                if matches!(step, ProtectionStep::Protect | ProtectionStep::Release) {
                    calls.push((now, step));
                }
            }
            prop_assert!(!matches!(plan.next(now), ProtectionStep::Protect | ProtectionStep::Release), "no busy loop");
            if in_hand > 0 && !fails {
                let granted = plan.protected.expect("protected while busy");
                prop_assert!(now - granted <= at(1_800));
            }
            prop_assert!(in_hand == 0 || plan.may_be_protected() || fails);
        }
        // A release needs ten idle seconds, and the call after a failure two.
        for three in calls.windows(3) {
            prop_assert!(three[2].0 - three[0].0 >= at(2), "{three:?}");
        }
        if !fails {
            for two in calls.windows(2) {
                prop_assert!(two[0].1 != two[1].1 || two[0].1 == ProtectionStep::Protect, "{two:?}");
            }
        }
    }
}
