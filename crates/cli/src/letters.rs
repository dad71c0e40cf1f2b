//! The engine behind the verbs that look at letters and move them: it selects letters, decides about each, and reports the
//! results.

pub(crate) mod condition;
mod copies;
mod end;
pub(crate) mod expiry;
mod letter_run;
mod kinds;
pub(crate) mod letter;
pub(crate) mod line;
pub(crate) mod look;
mod requested_ids;
mod redrive;
mod report;
mod reporter;
mod run;
mod scope;
mod selection;
mod sent_back;
mod tally;
mod tracker;
pub(crate) mod when;

pub(crate) use self::copies::Copies;
pub(crate) use self::end::no_match;
pub(crate) use self::kinds::{ErrorCount, Kinds, groups};
pub(crate) use self::letter::Letter;
pub(crate) use self::letter_run::{Choice, Decider, LetterRun, Route, Work};
pub(crate) use self::redrive::Redrive;
pub(crate) use self::reporter::bar;
pub(crate) use self::run::{Foreseen, foresee, run};
pub(crate) use self::selection::Selection;
pub(crate) use self::sent_back::{Returned, SentBack};
pub(crate) use self::tracker::LeftReason;
