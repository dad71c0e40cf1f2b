//! Handlers learn of their last attempt exactly if the engine ends the deliveries after it.

use std::time::Duration;

use proptest::prelude::*;
use redrive_engine::decide::{Case, Policy, Unstarted, decide_lane};
use redrive_engine::{LastDelivery, MessageOverrides, NextStep, Outcome};
use redrive_sqs::Attribute;

use crate::failure::Failure;
use crate::message::body::Raw;
use crate::message::record::{BatchContext, Record};
use crate::message::{FromMessage, Message};
use crate::settings::Settings;

proptest! {
    #[test]
    fn a_handler_knows_the_attempt_whose_error_ends_the_deliveries(
        max_receive_count in prop::option::of(1_u32..40), has_dead_letter_queue in any::<bool>(), is_fifo in any::<bool>(),
        writes_letters in any::<bool>(), attempt in 1_u32..40, own in prop::option::of(1_u32..40), delayed in any::<bool>(),
    ) {
        let settings = Settings::default();
        let last_delivery = if writes_letters { LastDelivery::DeadLetter } else { LastDelivery::RedrivePolicy };
        let source = if is_fifo { "orders.fifo" } else { "orders" };
        let policy = Policy { max_receive_count, last_delivery, ..settings.policy(source, has_dead_letter_queue) };
        let mut record = Record::builder().attempt(attempt);
        if let Some(own) = own {
            record = record.attribute("redrive.max-attempts", Attribute::text("Number", own.to_string()));
        }
        let record = record.build().with_context(BatchContext { max_receive_count, has_dead_letter_queue, ..BatchContext::for_tests() });
        let (asked, _) = MessageOverrides::read(&record.attributes(), policy.backoff, max_receive_count);
        let failure =
            if delayed { Failure::retry_after(Duration::from_secs(9), "busy") } else { Failure::from("down") };
        let outcome = Outcome::Failed(failure.reduce(None));
        let case = Case { outcome: &outcome, attempt, overrides: &asked, age: Duration::ZERO, random: 0.5 };
        let action = decide_lane(&[case], &policy, Unstarted::AtOnce).remove(0);
        let ends = matches!(action, NextStep::ByRedrivePolicy | NextStep::DeadLetter { .. });
        let message = Message::<Raw>::from_message(&record).unwrap();
        prop_assert_eq!(message.is_last_attempt(), ends, "{:?} of {:?}", action, message.max_attempts);
    }
}
