//! Sums up the reports of a minute, and computes when it ends.

use std::time::Duration;

use crate::BatchReport;

/// Durations that are published at once. Without a limit, a thousand messages a second would be megabytes a minute.
const MOST_DURATIONS: usize = 10_000;

/// Returns the sums of a minute in which nothing has happened yet.
pub(crate) fn begin(queue: &str) -> BatchReport {
    BatchReport { queue: queue.to_owned(), ..BatchReport::default() }
}

/// Returns the sums of a minute, and begins the next.
pub(crate) fn take(sums: &mut BatchReport) -> BatchReport {
    let next = begin(&sums.queue);
    std::mem::replace(sums, next)
}

/// Adds a batch. Returns true if there are too many durations to wait for the end of the minute. If nobody takes them in time,
/// durations are left out, but counts never are.
pub(crate) fn add(sums: &mut BatchReport, report: &BatchReport) -> bool {
    // Without `..`, so that a new field is not forgotten.
    let BatchReport {
        queue: _,
        records,
        succeeded,
        worker_errors,
        retried,
        dead_lettered,
        deferred,
        discarded,
        replayed,
        outages,
        not_started,
        stuck,
        settle_errors,
        // Counted when it happens, including messages that were in no batch.
        lease_lost: _,
        max_attempt,
        worker_durations,
        response_times,
    } = report;
    sums.records += records;
    sums.succeeded += succeeded;
    sums.worker_errors += worker_errors;
    sums.retried += retried;
    sums.dead_lettered += dead_lettered;
    sums.deferred += deferred;
    sums.discarded += discarded;
    sums.replayed += replayed;
    sums.outages += outages;
    sums.not_started += not_started;
    sums.stuck += stuck;
    sums.settle_errors += settle_errors;
    sums.max_attempt = sums.max_attempt.max(*max_attempt);
    sums.worker_durations.extend(worker_durations);
    sums.response_times.extend(response_times);
    sums.worker_durations.truncate(2 * MOST_DURATIONS);
    sums.response_times.truncate(2 * MOST_DURATIONS);
    sums.worker_durations.len().max(sums.response_times.len()) >= MOST_DURATIONS
}

/// Returns the time until the next publication. `started` and `now` are times of the wall clock since its epoch. A worker
/// publishes in the second of the minute in which it started, so that each minute of CloudWatch counts it once. It avoids the
/// ends of a minute, where a late timer would count it twice in one minute and not at all in the other.
pub(crate) fn until_next(started: Duration, now: Duration) -> Duration {
    const MINUTE: u128 = 60_000;
    let phase = (started.as_millis() % MINUTE).clamp(5_000, 50_000);
    let into = now.as_millis() % MINUTE;
    let wait = if into < phase { phase - into } else { MINUTE + phase - into };
    Duration::from_millis(wait as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn report(messages: usize) -> BatchReport {
        BatchReport {
            records: messages as u64,
            succeeded: messages as u64,
            max_attempt: messages as u32,
            worker_durations: vec![Duration::from_millis(5); messages],
            response_times: vec![Duration::from_millis(50); messages],
            ..BatchReport::default()
        }
    }

    /// Returns a report in which each counter has its own number, so that none can be mistaken for another.
    fn every_count() -> BatchReport {
        BatchReport {
            queue: "orders".to_owned(),
            records: 1,
            succeeded: 2,
            worker_errors: 3,
            retried: 4,
            dead_lettered: 5,
            deferred: 6,
            discarded: 7,
            replayed: 14,
            outages: 15,
            not_started: 8,
            stuck: 9,
            settle_errors: 10,
            lease_lost: 0,
            max_attempt: 11,
            worker_durations: vec![Duration::from_secs(12)],
            response_times: vec![Duration::from_secs(13)],
        }
    }

    #[test]
    fn a_minute_is_the_sum_of_its_reports_and_the_next_begins_at_zero() {
        let mut minute = begin("orders");
        add(&mut minute, &every_count());
        assert_eq!(minute, every_count());
        add(&mut minute, &BatchReport { lease_lost: 1, ..report(2) });
        let milliseconds =
            |first: u64, then: u64| [first * 1_000, then, then].map(Duration::from_millis).to_vec();
        let expected = BatchReport {
            records: 3,
            succeeded: 4,
            worker_durations: milliseconds(12, 5),
            response_times: milliseconds(13, 50),
            ..every_count()
        };
        assert_eq!(take(&mut minute), expected);
        assert_eq!(minute, BatchReport { queue: "orders".to_owned(), ..BatchReport::default() });
    }

    #[test]
    fn memory_is_bounded_and_counts_are_never_lost() {
        let mut minute = begin("orders");
        assert!(!add(&mut minute, &report(MOST_DURATIONS - 1)));
        assert!(add(&mut minute, &report(1)));
        for _ in 0..10 {
            assert!(add(&mut minute, &report(MOST_DURATIONS)));
        }
        let taken = take(&mut minute);
        assert_eq!(taken.succeeded, 11 * MOST_DURATIONS as u64);
        assert_eq!(taken.worker_durations.len(), 2 * MOST_DURATIONS);
        assert_eq!(taken.response_times.len(), 2 * MOST_DURATIONS);
        assert!(!add(&mut minute, &report(1)));
    }

    proptest! {
        #[test]
        fn each_minute_of_the_wall_clock_has_one_publication(
            started in 0_u64..10_000_000,
            late in prop::collection::vec(0_u64..4_900, 1..50),
        ) {
            let started = Duration::from_millis(started);
            let minute = |now: Duration| now.as_secs() / 60;
            let mut now = started + until_next(started, started);
            prop_assert!(now > started && now <= started + Duration::from_secs(60));
            for late in late {
                let next = now + until_next(started, now) + Duration::from_millis(late);
                prop_assert_eq!(minute(next), minute(now) + 1);
                now = next;
            }
        }
    }
}
