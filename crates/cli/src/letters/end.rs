//! Turns the tally of a run into its error and exit code. Pure.

use std::collections::BTreeSet;
use std::io;

use anyhow::anyhow;

use super::letter_run::{Mode, Operation};
use super::tally::Tally;
use crate::problem::Problem;

/// Result of a run.
#[derive(Debug)]
pub(super) struct End {
    pub(super) tally: Tally,
    pub(super) operation: Operation,
    pub(super) mode: Mode,
    /// True if all letters were selected.
    pub(super) has_all: bool,
    /// True if the run succeeds although the selection matches nothing.
    pub(super) is_none_allowed: bool,
    pub(super) is_to_the_end: bool,
    /// True if SQS returned no more letters because too many were in flight.
    pub(super) is_full: bool,
    /// Approximate number of letters that others have in flight.
    pub(super) hidden: u64,
    /// Ids that no letter has.
    pub(super) missing: BTreeSet<String>,
    /// Error that ended the run early.
    pub(super) fatal: Option<anyhow::Error>,
    /// Error of writing the totals, and the totals.
    pub(super) unread: Option<(io::Error, String)>,
}

impl End {
    /// Returns an error with the exit code if the run did not do everything that was requested.
    pub(super) fn result(self, no_match: impl FnOnce() -> Problem) -> Result<(), Problem> {
        let Self { operation, mode, hidden, .. } = self;
        let is_unmatched = self.is_to_the_end && !self.has_all && self.tally.has_no_match();
        let not_found = (self.is_to_the_end && !self.missing.is_empty()).then(|| not_found(&self.missing));
        let unseen = (is_unmatched && hidden > 0)
            .then(|| format!("about {hidden} letters are in flight, and no other was selected"));
        let is_left = unseen.is_none() && mode != Mode::DryRun && operation != Operation::Ask;
        let remaining = (is_left && hidden > 0).then(|| remaining(hidden));
        let unreceived = (is_left && self.is_full).then(|| "some letters were not received".to_owned());
        let parts = [self.tally.problem(operation), not_found, unseen, remaining, unreceived];
        let parts = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let fatal = self.fatal.map(|fatal| match self.tally.so_far(operation, mode != Mode::Real) {
            Some(so_far) => anyhow!("{fatal:#}; {so_far}"),
            None => fatal,
        });
        // A closed stdout does not hide letters that failed.
        let error = match (fatal, self.unread) {
            (Some(fatal), _) if parts.is_empty() => fatal,
            (Some(fatal), _) => fatal.context(parts),
            (None, _) if !parts.is_empty() => anyhow!(parts),
            (None, Some((error, sum))) => {
                anyhow::Error::new(error).context(format!("could not write to stdout, but {sum}"))
            }
            (None, None) if is_unmatched && !self.is_none_allowed => return Err(no_match()),
            (None, None) => return Ok(()),
        };
        Err(Problem::Failed(error))
    }
}

/// Returns the error for a queue in which no letter matches.
pub(crate) fn no_match(from: &str, reasons: Option<String>) -> Problem {
    let reasons = reasons.map(|reasons| format!(" ({reasons})")).unwrap_or_default();
    Problem::NoMatch(anyhow!("no letter in {from} matches{reasons}; --allow-none makes this a success"))
}

fn remaining(hidden: u64) -> String {
    match hidden {
        1 => "about 1 letter remains in flight: run it again for this one".to_owned(),
        _ => format!("about {hidden} letters remain in flight: run it again for these"),
    }
}

/// Returns the error for missing ids. SQS's ids have 36 characters: a shorter one was copied from `dlq list`, which cuts them.
fn not_found(missing: &BTreeSet<String>) -> String {
    let ids = missing.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    match missing.iter().any(|id| (8..36).contains(&id.len())) {
        true => format!("not found: {ids} (--ids takes whole ids: redrive dlq list --wide)"),
        false => format!("not found: {ids}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tracker::LeftReason;
    use super::*;

    const NO_MATCH: &str = "no letter in dead matches (x); --allow-none makes this a success";

    #[test]
    fn each_end_has_its_words_and_its_exit_code() {
        let left = |why| Tally { left: BTreeMap::from([(why, 2)]), ..Tally::default() };
        let sent = || Tally { done: 1, ..Tally::default() };
        let end = || End {
            tally: sent(),
            operation: Operation::Send,
            mode: Mode::Real,
            has_all: false,
            is_none_allowed: false,
            is_to_the_end: true,
            is_full: false,
            hidden: 0,
            missing: BTreeSet::new(),
            fatal: None,
            unread: None,
        };
        let none = || End { tally: left(LeftReason::NotWanted), ..end() };
        let missing = || BTreeSet::from(["b2".to_owned()]);
        let fatal = || Some(anyhow!("no connection"));
        let unread = || Some((io::Error::other("disk full"), "1 sent from a to b".to_owned()));
        let failed = || Tally { failed: 1, ..sent() };
        for (end, code, said) in [
            (end(), 0, ""),
            (End { hidden: 1, mode: Mode::DryRun, ..end() }, 0, ""),
            (End { hidden: 1, operation: Operation::Ask, ..end() }, 0, ""),
            (End { is_none_allowed: true, ..none() }, 0, ""),
            (End { has_all: true, ..none() }, 0, ""),
            (End { is_to_the_end: false, ..none() }, 0, ""),
            (End { is_to_the_end: false, missing: missing(), ..none() }, 0, ""),
            (End { tally: Tally::default(), ..end() }, 3, NO_MATCH),
            (none(), 3, NO_MATCH),
            (End { missing: missing(), ..none() }, 1, "not found: b2"),
            (End { missing: missing(), is_none_allowed: true, ..end() }, 1, "not found: b2"),
            (
                End { missing: BTreeSet::from(["059f36b4".to_owned()]), ..end() },
                1,
                "not found: 059f36b4 (--ids takes whole ids: redrive dlq list --wide)",
            ),
            (End { tally: failed(), ..end() }, 1, "1 letter was not sent"),
            (End { tally: failed(), operation: Operation::Delete, ..end() }, 1, "1 letter was not deleted"),
            (
                End { tally: failed(), operation: Operation::Ask, ..end() },
                1,
                "1 letter was neither sent nor deleted",
            ),
            (
                End { tally: Tally { perhaps_sent: 1, possible_duplicates: 1, ..failed() }, ..end() },
                1,
                "1 letter was not sent, 2 messages may arrive twice",
            ),
            (End { tally: Tally { perhaps_taken: 1, ..sent() }, ..end() }, 1, "1 message may arrive twice"),
            (End { tally: left(LeftReason::CameBack), ..end() }, 1, "2 letters failed again"),
            (
                End { tally: left(LeftReason::BehindInGroup), ..end() },
                1,
                "2 selected letters stay behind others of their groups",
            ),
            (End { tally: left(LeftReason::BehindInGroup), operation: Operation::Ask, ..end() }, 0, ""),
            (
                End { tally: Tally { named_but_left: 2, ..left(LeftReason::BehindInGroup) }, ..end() },
                1,
                "2 letters of --ids stay",
            ),
            (End { tally: left(LeftReason::CameLater), ..end() }, 0, ""),
            (End { tally: left(LeftReason::OverMaximum), ..end() }, 0, ""),
            (End { tally: left(LeftReason::Skipped), ..end() }, 0, ""),
            (End { tally: left(LeftReason::OfAnotherQueue), ..end() }, 0, ""),
            (End { tally: Tally { done: 1, ..left(LeftReason::NotWanted) }, ..end() }, 0, ""),
            (
                End { tally: Tally { failed: 1, ..left(LeftReason::NotWanted) }, ..end() },
                1,
                "1 letter was not sent",
            ),
            (End { tally: failed(), hidden: 2, mode: Mode::DryRun, ..end() }, 1, "1 letter was not sent"),
            (End { hidden: 1, ..end() }, 1, "about 1 letter remains in flight: run it again for this one"),
            (End { hidden: 2, ..none() }, 1, "about 2 letters are in flight, and no other was selected"),
            (End { is_full: true, ..end() }, 1, "some letters were not received"),
            (
                End { unread: unread(), ..end() },
                1,
                "could not write to stdout, but 1 sent from a to b: disk full",
            ),
            (End { unread: unread(), tally: failed(), ..end() }, 1, "1 letter was not sent"),
            (
                End { fatal: fatal(), unread: unread(), ..end() },
                1,
                "no connection; 1 letter was sent before; run it again for the rest",
            ),
            (End { fatal: fatal(), mode: Mode::Preview, ..none() }, 1, "no connection"),
            (
                End { fatal: fatal(), tally: failed(), ..end() },
                1,
                "1 letter was not sent: no connection; 1 letter was sent before; run it again for the rest",
            ),
        ] {
            let shown = format!("{end:?}");
            let result = end.result(|| no_match("dead", Some("x".to_owned())));
            let (is, says) = result.err().map_or((0, String::new()), |it| (it.code(), it.to_string()));
            assert_eq!((is, says.as_str()), (code, said), "{shown}");
        }
    }
}
