//! The numbers of the small charts over time. Pure.

use std::collections::VecDeque;

use serde::Serialize;

/// Most samples that are kept. Beyond that, every other sample is dropped.
const MOST: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Sample {
    /// Time in simulated seconds since the start.
    pub(super) at: f64,
    #[serde(flatten)]
    pub(super) numbers: Numbers,
}

/// Numbers of all queues that feed functions, and of all their dead-letter queues.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(super) struct Numbers {
    /// Messages waiting for their first or next delivery, including delayed ones.
    pub(super) depth: usize,
    /// Messages that were received and are hidden: in an invocation, or waiting for a retry.
    pub(super) in_flight: usize,
    pub(super) dead: usize,
    /// The sum of WorkerErrors since the start.
    pub(super) errors: f64,
    /// The sum of Outages since the start.
    pub(super) outages: f64,
}

/// Samples over the whole run, each with the version of its last change.
#[derive(Debug, Default)]
pub(super) struct Samples(VecDeque<(u64, Sample)>);

impl Samples {
    /// Adds a sample. While the numbers do not change, the last sample moves instead.
    pub(super) fn add(&mut self, sample: Sample, version: u64) {
        let length = self.0.len();
        let flat = length >= 2 && self.0.range(length - 2..).all(|(_, last)| last.numbers == sample.numbers);
        if flat {
            self.0.pop_back();
        }
        self.0.push_back((version, sample));
        if self.0.len() > MOST {
            let mut keep = false;
            self.0.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    pub(super) fn last(&self) -> Option<Sample> {
        self.0.back().map(|(_, sample)| *sample)
    }

    pub(super) fn changed(&self, after: u64, to: u64) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(move |(version, _)| (after + 1..=to).contains(version)).map(|(_, sample)| sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(samples: &mut Samples, at: u64, depth: usize) {
        samples.add(Sample { at: at as f64, numbers: Numbers { depth, ..Numbers::default() } }, at);
    }

    #[test]
    fn a_flat_line_has_two_ends() {
        let mut samples = Samples::default();
        for (at, depth) in [(1, 0), (2, 0), (3, 0), (4, 7), (5, 7), (6, 7), (7, 7)] {
            add(&mut samples, at, depth);
        }
        let points: Vec<_> = samples.changed(0, 99).map(|sample| (sample.at, sample.numbers.depth)).collect();
        assert_eq!(points, [(1.0, 0), (3.0, 0), (4.0, 7), (7.0, 7)]);
        assert_eq!(samples.changed(4, 99).count(), 1);
    }

    #[test]
    fn a_long_run_is_kept_from_start_to_end_but_coarser() {
        let mut samples = Samples::default();
        for at in 1..=10_000 {
            add(&mut samples, at, at as usize);
        }
        let all: Vec<_> = samples.changed(0, u64::MAX).collect();
        assert!(all.len() <= MOST && all.len() >= MOST / 2);
        assert_eq!((all[0].at, samples.last().unwrap().at), (1.0, 10_000.0));
    }
}
