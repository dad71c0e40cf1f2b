//! A process's view of a shared bucket: its last known contents, and the time on its clock.

use std::time::Duration;

use redrive::tokens::Bucket;

/// A view of a bucket, whose clock begins with the first lease and depends on no machine's clock. A process continues from the
/// latest time that it has seen in the item, by its own steady clock. So it may be behind, but never ahead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BucketView {
    /// `None` if there is no item.
    pub(crate) bucket: Option<Bucket>,
    /// Latest time that was seen, and the time of the steady clock then.
    seen: Option<(Duration, Duration)>,
}

impl BucketView {
    /// Returns the time on the bucket's clock. `steady` counts from any moment.
    pub(crate) fn now(&self, steady: Duration) -> Duration {
        self.seen.map_or(Duration::ZERO, |(at, then)| at + steady.saturating_sub(then))
    }

    /// Records the contents of the item at `steady` or later.
    pub(crate) fn observe(&mut self, bucket: Option<Bucket>, steady: Duration) {
        self.bucket = bucket;
        if let Some(Bucket { at, .. }) = bucket
            && (self.seen.is_none() || at > self.now(steady))
        {
            self.seen = Some((at, steady));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redrive::Rate;

    use super::*;

    const fn millis(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_process_goes_on_from_the_latest_time_that_it_has_seen() {
        let mut view = BucketView::default();
        let bucket = |at| Some(Bucket { level: 0, at: millis(at) });
        view.observe(bucket(5_000), millis(100));
        assert_eq!(view.now(millis(300)), millis(5_200));
        view.observe(bucket(5_100), millis(300));
        assert_eq!(view.now(millis(300)), millis(5_200), "it knew better");
        view.observe(bucket(9_000), millis(400));
        assert_eq!(view.now(millis(500)), millis(9_100));
    }

    proptest! {
        /// Processes with steady clocks that began at any time start and end, and their writes may find that another was first.
        #[test]
        fn processes_lease_no_more_than_the_burst_and_the_rate_in_any_window(
            messages in 1_u32..100, burst in 1_u32..50,
            steps in prop::collection::vec((0_u64..400, 0_usize..6, 1_u32..60, 0_u8..8), 1..150),
        ) {
            let rate = Rate::per_second(messages).burst(burst);
            let (mut item, mut now, mut leased) = (None::<Bucket>, 0, Vec::new());
            let mut joined = 6_u32;
            let new = |process: u64| (BucketView::default(), process * 1_000_000);
            let mut processes: Vec<_> = (0..6).map(new).collect();
            // Buckets that a process has read and not written yet.
            let mut writes = vec![None; 6];
            for (later, process, most, chance) in steps {
                now += later;
                let (view, ahead) = &mut processes[process];
                let steady = millis(now + *ahead);
                match writes[process].take() {
                    Some((read, bucket, tokens)) if read == item => {
                        let before = item.map_or(Duration::ZERO, |item| item.at);
                        item = Some(bucket);
                        prop_assert!(before <= bucket.at && bucket.at <= millis(now));
                        leased.push((now, bucket.at, joined, tokens));
                        view.observe(item, steady);
                    }
                    Some(_) => view.observe(item, steady),
                    None if chance == 0 => {
                        processes[process] = (BucketView::default(), 7_000_000 + now);
                        joined += 1;
                    }
                    None => {
                        let mut bucket = view.bucket.unwrap_or_else(|| Bucket::full(&rate));
                        let lease = bucket.lease(most, &rate, view.now(steady));
                        writes[process] = (lease.tokens() > 0).then_some((view.bucket, bucket, lease.tokens()));
                    }
                }
            }
            for (first, (since, item, ..)) in leased.iter().enumerate() {
                let mut sum = 0;
                for (at, _, joined, tokens) in &leased[first..] {
                    sum += tokens;
                    // Some tokens are leased up to a second in advance.
                    let most = f64::from(burst + messages);
                    // The first process may have been behind. Each that joins adds as much as a bucket leases at once.
                    let late = (millis(*since) - *item).as_secs_f64() * f64::from(messages);
                    let time = (millis(*at) - millis(*since)).as_secs_f64() * f64::from(messages);
                    prop_assert!(f64::from(sum) <= most + time + late.min(f64::from(*joined) * most) + 1e-6);
                }
            }
        }
    }
}
