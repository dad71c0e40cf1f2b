//! Calls to SQS that several verbs use: only this module sends, deletes and hides messages.

mod attributes;
mod calls;
mod delete;
mod guard;
mod lease;
mod message;
mod metrics;
mod outlook;
mod pace;
mod receivable;
mod rules;
mod send;
mod signals;

pub(crate) use self::attributes::from_sdk;
pub(crate) use self::calls::{Outcome, Step};
pub(crate) use self::delete::delete;
pub(crate) use self::guard::Behind;
pub(crate) use self::lease::{LetterLease, with_lease};
pub(crate) use self::message::NewMessage;
pub(crate) use self::metrics::{OLDEST, RECENT, VISIBLE, maximum_each, maximum_each_minute};
pub(crate) use self::outlook::Outlook;
pub(crate) use self::pace::Pace;
pub(crate) use self::receivable::Receivable;
pub(crate) use self::rules::QueueRules;
pub(crate) use self::send::{OnLostAnswer, Sender, requests};
pub(crate) use self::signals::Stop;
