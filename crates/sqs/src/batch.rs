//! Decides from SQS's reply what a caller does next with an entry of a batch call.

use crate::{Refusal, may_go_better};

/// SQS's reply about an entry, or about the call that contained it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    Confirmed,
    Failed {
        code: &'a str,
        sender_fault: bool,
    },
    /// SQS refused the call with all its entries.
    Refused {
        status: u16,
        code: Option<&'a str>,
        entries: usize,
    },
    /// No answer arrived, or the answer does not mention the entry.
    Lost,
}

/// The next step for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Done,
    /// SQS did not process the entry, but may succeed if it is sent again unchanged.
    Again,
    /// Send the entry in a call of its own: SQS refused the call because of the content of one of its entries.
    Alone,
    /// SQS would refuse it again: its content is bad, or its message is gone.
    Bad,
    /// The queue, its key or the caller is at fault: no entry would succeed.
    Denied,
    /// The outcome is unknown: SQS may have processed the entry.
    Unclear,
}

impl Reply<'_> {
    /// Returns the next step. An unknown code may be about one entry, so the entries are then sent one by one.
    #[must_use]
    pub fn next(self) -> Next {
        use Refusal::{OfTheCaller, OfTheEntry, OfTheService, Throttled, Unknown};
        match self {
            Self::Confirmed => Next::Done,
            Self::Lost => Next::Unclear,
            Self::Failed { code, sender_fault } if may_go_better(code, sender_fault) => Next::Again,
            Self::Failed { code, .. } if Refusal::of(code) == OfTheCaller => Next::Denied,
            Self::Failed { .. } => Next::Bad,
            Self::Refused { status, code, entries } => match (code.map(Refusal::of), status) {
                (Some(Throttled), _) | (_, 429) => Next::Again,
                (None, _) | (_, 500..) => Next::Unclear,
                (Some(OfTheService), _) => Next::Again,
                (Some(OfTheCaller), _) | (_, 401 | 403) => Next::Denied,
                (Some(OfTheEntry | Unknown), _) if entries > 1 => Next::Alone,
                (Some(OfTheEntry | Unknown), _) => Next::Bad,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ABOUT_AN_ENTRY: [&str; 3] = ["InvalidMessageContents", "ReceiptHandleIsInvalid", "SomethingNew"];

    fn code() -> impl Strategy<Value = &'static str> {
        let others = ["KmsThrottled", "InternalError", "AccessDenied", "QueueDoesNotExist"];
        prop::sample::select([&ABOUT_AN_ENTRY[..], &others].concat())
    }

    proptest! {
        #[test]
        fn an_entry_is_given_up_only_if_sending_it_again_is_pointless(
            code in code(),
            sender_fault in any::<bool>(),
        ) {
            let next = Reply::Failed { code, sender_fault }.next();
            prop_assert_eq!(next == Next::Bad, sender_fault && ABOUT_AN_ENTRY.contains(&code));
            let passes = !sender_fault || ["KmsThrottled", "InternalError"].contains(&code);
            prop_assert_eq!(next == Next::Again, passes);
        }

        #[test]
        fn a_call_is_split_until_the_bad_entry_is_alone(
            code in code(),
            status in prop::sample::select(vec![400, 401, 403, 413, 429, 500, 503]),
            entries in 1_usize..=10,
        ) {
            let is_for_an_entry = ABOUT_AN_ENTRY.contains(&code) && [400, 413].contains(&status);
            let next = Reply::Refused { status, code: Some(code), entries }.next();
            prop_assert_eq!(next == Next::Alone, is_for_an_entry && entries > 1);
            prop_assert_eq!(next == Next::Bad, is_for_an_entry && entries == 1);
        }

        #[test]
        fn only_a_failure_of_sqs_leaves_the_outcome_of_an_entry_unclear(
            code in prop::option::of(code()),
            status in 400_u16..600,
            entries in 1_usize..=10,
        ) {
            let next = Reply::Refused { status, code, entries }.next();
            prop_assert!(next != Next::Done);
            prop_assert!(next != Next::Unclear || code.is_none() || status >= 500);
            prop_assert!(next == Next::Unclear || next == Next::Again || (code.is_some() && status < 500));
        }
    }

    #[test]
    fn throttling_passes_and_what_concerns_all_entries_does_not() {
        let refused = |status, code| Reply::Refused { status, code: Some(code), entries: 10 }.next();
        assert_eq!(refused(400, "AWS.SimpleQueueService.RequestThrottled"), Next::Again);
        assert_eq!(refused(503, "ThrottlingException"), Next::Again);
        assert_eq!(refused(400, "RequestTimeout"), Next::Again);
        assert_eq!(refused(400, "AWS.SimpleQueueService.NonExistentQueue"), Next::Denied);
        assert_eq!(refused(403, "SomethingNew"), Next::Denied);
        assert_eq!((Reply::Confirmed.next(), Reply::Lost.next()), (Next::Done, Next::Unclear));
    }
}
