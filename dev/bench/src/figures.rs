//! The figures of one run, and the medians of many.

use std::collections::BTreeMap;

/// A quantity that is measured. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Figure {
    /// From the start of the process to its first poll.
    ColdMs,
    /// The first invocation, from the event to the answer.
    FirstMs,
    FirstCpuMs,
    /// The median of the invocations after the warm-up.
    P50Ms,
    P99Ms,
    /// CPU of one invocation, from poll to poll.
    CpuMs,
    InvocationsPerSecond,
    /// The most memory that was ever resident.
    PeakMib,
    /// Size of the stripped program on disk.
    BinaryMb,
}

impl Figure {
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::InvocationsPerSecond => "/s",
            Self::PeakMib => "MiB",
            Self::BinaryMb => "MB",
            Self::ColdMs | Self::FirstMs | Self::FirstCpuMs | Self::P50Ms | Self::P99Ms | Self::CpuMs => "ms",
        }
    }
}

/// The figures of one run, or the medians of many.
pub(crate) type Figures = BTreeMap<Figure, f64>;

pub(crate) fn medians(rounds: &[Figures]) -> Figures {
    let mut samples: BTreeMap<Figure, Vec<f64>> = BTreeMap::new();
    for (figure, value) in rounds.iter().flatten() {
        samples.entry(*figure).or_default().push(*value);
    }
    samples.into_iter().map(|(figure, samples)| (figure, quantile(&samples, 0.5))).collect()
}

/// Returns the sample below which this share of them lies, or 0 without samples.
pub(crate) fn quantile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_samples() {
        let samples = [3.0, 1.0, 2.0, 5.0, 4.0];
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| quantile(&samples, share)), [1.0, 3.0, 5.0, 5.0]);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_median_is_taken_figure_by_figure() {
        let round = |cold, cpu| Figures::from([(Figure::ColdMs, cold), (Figure::CpuMs, cpu)]);
        let medians = medians(&[round(3.0, 0.2), round(1.0, 0.1), round(2.0, 0.3)]);
        assert_eq!(medians, round(2.0, 0.2));
    }
}
