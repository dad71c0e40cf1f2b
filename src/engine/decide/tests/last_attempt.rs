//! What handlers are told of their last attempt is what is decided of it.

use redrive_sqs::Attribute;

use super::*;
use crate::record::{Limits, Record};
use crate::{FromMessage, Message, Raw};

proptest! {
    #[test]
    fn a_handler_knows_its_last_attempt_exactly_where_an_error_ends_the_deliveries(
        policy in any_policy(), attempt in 1_u32..40, own in prop::option::of(1_u32..40), delayed in any::<bool>(),
    ) {
        let mut record = Record::builder().attempt(attempt);
        if let Some(own) = own {
            record = record.attribute("redrive.max-attempts", Attribute::text("Number", own.to_string()));
        }
        let Policy { max_receive_count, has_dead_letter_queue, .. } = policy;
        let record = record.build().with_limits(Limits { max_receive_count, has_dead_letter_queue, ..Limits::for_tests() });
        let (asked, _) = Asked::read(&record.attributes(), policy.backoff, max_receive_count);
        let outcome = failed(if delayed { Failure::retry_after(secs(9), "busy") } else { Failure::from("down") });
        let action = decide(&Case { outcome: &outcome, attempt, asked: &asked, age: Duration::ZERO, random: 0.5 }, &policy);
        let ends = matches!(action, Action::ByRedrivePolicy | Action::DeadLetter { .. });
        let message = Message::<Raw>::from_message(&record).unwrap();
        prop_assert_eq!(message.is_last_attempt(), ends, "{:?} of {:?}", action, message.max_attempts);
    }
}
