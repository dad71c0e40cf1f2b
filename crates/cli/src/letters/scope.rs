//! Where a run through a queue ends that may get new letters meanwhile. Pure.

use std::time::SystemTime;

/// So many letters in a row that are none of this run's, and so many receives in a row that bring nothing new, end it.
const STRANGERS: u32 = 10;
const BARREN: u32 = 3;

/// The letters that were there when the run began: as many as SQS counted, and beyond that number, which is approximate,
/// those that were sent before.
#[derive(Debug)]
pub(crate) struct Scope {
    began: SystemTime,
    /// SQS counted later than that, so letters that arrived in between are in the count.
    is_later: bool,
    /// In flight and delayed ones too.
    counted: u64,
    visible: u64,
    met: u64,
    strangers: u32,
    barren: u32,
    empty: u32,
}

impl Scope {
    pub(crate) fn new(began: SystemTime, visible: u64, counted: u64) -> Self {
        Self { began, is_later: false, counted, visible, met: 0, strangers: 0, barren: 0, empty: 0 }
    }

    /// For a later run over the letters of the one that began then.
    pub(crate) fn later(began: SystemTime, visible: u64, counted: u64) -> Self {
        Self { is_later: true, ..Self::new(began, visible, counted) }
    }

    /// Whether a letter that is met for the first time belongs to this run. A letter that SQS moved may keep the time at
    /// which the message was first sent, and this clock need not be that of SQS: the time alone does not tell.
    pub(crate) fn covers(&mut self, sent: Option<SystemTime>) -> bool {
        self.met += 1;
        let is_counted = self.met <= self.counted;
        let covered = is_counted && !self.is_later || sent.is_some_and(|sent| sent <= self.began);
        self.strangers = if covered || is_counted { 0 } else { self.strangers + 1 };
        covered
    }

    /// After a receive of so many letters, of which so many were met for the first time.
    pub(crate) fn received(&mut self, letters: usize, new: usize) {
        self.empty = if letters == 0 { self.empty + 1 } else { 0 };
        self.barren = if letters > 0 && new == 0 { self.barren + 1 } else { 0 };
    }

    /// How many were met.
    pub(crate) fn met(&self) -> u64 {
        self.met
    }

    /// There is more to receive after all.
    pub(crate) fn reopen(&mut self) {
        (self.empty, self.barren) = (0, 0);
    }

    /// How many could be received at the start, and were not met.
    pub(crate) fn unmet(&self) -> u64 {
        self.visible.saturating_sub(self.met)
    }

    /// How many could not be received at the start, and were not met either.
    pub(crate) fn hidden(&self) -> u64 {
        self.counted.saturating_sub(self.visible.max(self.met))
    }

    /// One empty receive, which asks all of a queue's servers, is enough if all letters were met; else one might be late.
    pub(crate) fn is_over(&self) -> bool {
        let patience = if self.met >= self.visible { 1 } else { 2 };
        self.empty >= patience || self.strangers >= STRANGERS || self.barren >= BARREN
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn at(seconds: u64) -> Option<SystemTime> {
        Some(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    fn scope(visible: u64) -> Scope {
        Scope::new(UNIX_EPOCH + Duration::from_secs(100), visible, visible)
    }

    #[test]
    fn as_many_as_were_counted_belong_to_the_run_whatever_the_clocks_say() {
        let mut scope = scope(2);
        assert_eq!(
            [scope.covers(at(5_000)), scope.covers(None), scope.covers(at(5_000))],
            [true, true, false]
        );
    }

    #[test]
    fn beyond_the_count_those_that_were_sent_before_belong_to_it() {
        let mut scope = scope(0);
        assert_eq!([scope.covers(at(100)), scope.covers(at(101)), scope.covers(None)], [true, false, false]);
    }

    #[test]
    fn a_later_run_leaves_what_arrived_since_and_ends_only_when_it_met_as_many_as_were_counted() {
        let mut scope = Scope::later(UNIX_EPOCH + Duration::from_secs(100), 12, 12);
        assert!((0..11).all(|_| !scope.covers(at(101))) && !scope.is_over());
        assert!(scope.covers(at(100)));
        assert!((0..10).all(|_| !scope.covers(at(101))) && scope.is_over());
    }

    #[test]
    fn a_queue_that_is_filled_all_the_time_ends() {
        let mut scope = scope(20);
        let mut met = 0;
        while !scope.is_over() {
            for _ in 0..10 {
                scope.covers(at(200));
            }
            scope.received(10, 10);
            met += 10;
            assert!(met < 100);
        }
        assert_eq!(met, 30);
    }

    #[test]
    fn letters_that_come_again_and_again_end_it() {
        let mut scope = scope(20);
        for _ in 0..3 {
            assert!(!scope.is_over());
            scope.received(10, 0);
        }
        assert!(scope.is_over());
    }

    #[test]
    fn an_empty_receive_ends_it_once_all_were_met_and_else_the_second() {
        let mut all = scope(1);
        all.covers(None);
        all.received(1, 1);
        assert!(!all.is_over());
        all.received(0, 0);
        assert!(all.is_over());
        let mut some = scope(2);
        some.received(0, 0);
        assert!(!some.is_over());
        some.received(0, 0);
        assert!(some.is_over());
    }
}
