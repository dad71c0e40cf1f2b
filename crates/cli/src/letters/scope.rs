//! Decides when a run has seen all letters, although new ones may arrive meanwhile. Pure.

use std::time::SystemTime;

/// Number of later letters in a row, and of receives in a row with only known letters, that ends the run.
const STRANGERS: u32 = 10;
const BARREN: u32 = 3;

/// The letters that were in the queue when the run began: as many as SQS counted. Because that count is approximate, letters
/// beyond it belong to the run if they were sent before.
#[derive(Debug)]
pub(crate) struct Scope {
    began: SystemTime,
    /// True if SQS counted later than that, so the count includes letters that arrived in between.
    is_later: bool,
    /// Count of visible, in-flight and delayed letters.
    counted: u64,
    visible: u64,
    seen: u64,
    strangers: u32,
    barren: u32,
    empty: u32,
}

impl Scope {
    pub(crate) fn new(began: SystemTime, visible: u64, counted: u64) -> Self {
        Self { began, is_later: false, counted, visible, seen: 0, strangers: 0, barren: 0, empty: 0 }
    }

    /// Returns the scope of a later run over the letters of the run that began then.
    pub(crate) fn later(began: SystemTime, visible: u64, counted: u64) -> Self {
        Self { is_later: true, ..Self::new(began, visible, counted) }
    }

    /// Returns true if a letter that is seen for the first time belongs to this run. Its time alone does not decide: a letter that
    /// SQS moved may keep the time of its message, and the clocks may differ.
    pub(crate) fn covers(&mut self, sent: Option<SystemTime>) -> bool {
        self.seen += 1;
        let is_counted = self.seen <= self.counted;
        let covered = is_counted && !self.is_later || sent.is_some_and(|sent| sent <= self.began);
        self.strangers = if covered || is_counted { 0 } else { self.strangers + 1 };
        covered
    }

    /// Records a receive with these letters, of which `new` were seen for the first time.
    pub(crate) fn received(&mut self, letters: usize, new: usize) {
        self.empty = if letters == 0 { self.empty + 1 } else { 0 };
        self.barren = if letters > 0 && new == 0 { self.barren + 1 } else { 0 };
    }

    /// Counts the letters that were seen.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Continues, because there are more letters to receive.
    pub(crate) fn reopen(&mut self) {
        (self.empty, self.barren) = (0, 0);
    }

    /// Counts the letters that were visible at the start and were not seen.
    pub(crate) fn unseen(&self) -> u64 {
        self.visible.saturating_sub(self.seen)
    }

    /// Counts the letters that were not visible at the start and were not seen.
    pub(crate) fn hidden(&self) -> u64 {
        self.counted.saturating_sub(self.visible.max(self.seen))
    }

    /// Returns true if the run is over. One empty receive, which asks all of a queue's servers, is enough if all visible letters
    /// were seen. Otherwise it takes two, because one letter might be late.
    pub(crate) fn is_over(&self) -> bool {
        let patience = if self.seen >= self.visible { 1 } else { 2 };
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
    fn a_later_run_leaves_new_letters_and_sees_as_many_as_were_counted() {
        let mut scope = Scope::later(UNIX_EPOCH + Duration::from_secs(100), 12, 12);
        assert!((0..11).all(|_| !scope.covers(at(101))) && !scope.is_over());
        assert!(scope.covers(at(100)));
        assert!((0..10).all(|_| !scope.covers(at(101))) && scope.is_over());
    }

    #[test]
    fn a_queue_that_is_filled_all_the_time_ends() {
        let mut scope = scope(20);
        let mut seen = 0;
        while !scope.is_over() {
            for _ in 0..10 {
                scope.covers(at(200));
            }
            scope.received(10, 10);
            seen += 10;
            assert!(seen < 100);
        }
        assert_eq!(seen, 30);
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
