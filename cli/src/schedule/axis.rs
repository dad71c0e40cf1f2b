//! The time axis of the plot: which column a moment is in, and the labels below. Pure.

use std::time::Duration;

use crate::span;

/// Delays that differ by more than this need a logarithmic axis, or the short ones fall into one column.
const LINEAR_UP_TO: f64 = 8.0;

/// What a label may say, in seconds.
const ROUND: [u64; 22] = [
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400,
    172_800, 345_600, 604_800, 1_209_600,
];

/// From the sending of a message, in the first column, to its end in the last.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    width: usize,
    end: f64,
    /// Where a logarithmic axis begins to bend; none if it is linear.
    unit: Option<f64>,
}

impl Axis {
    /// For a message that waits this long between its attempts.
    pub(super) fn new(width: usize, end: Duration, delays: impl Iterator<Item = Duration>) -> Self {
        let delays: Vec<f64> = delays.map(|delay| delay.as_secs_f64()).filter(|delay| *delay > 0.0).collect();
        let longest = delays.iter().copied().fold(0.0, f64::max);
        let shortest = delays.into_iter().fold(f64::INFINITY, f64::min);
        let unit = (longest > LINEAR_UP_TO * shortest).then_some(shortest);
        Self { width, end: end.as_secs_f64().max(1.0), unit }
    }

    pub(super) fn column(&self, at: Duration) -> usize {
        let at = at.as_secs_f64().min(self.end);
        let share = match self.unit {
            None => at / self.end,
            Some(unit) => (at / unit).ln_1p() / (self.end / unit).ln_1p(),
        };
        // Never beyond the last column.
        (share * (self.width - 1) as f64).round() as usize
    }

    /// Round times where they fit, each beginning in its own column.
    pub(super) fn labels(&self) -> String {
        let mut line = "0".to_owned();
        for seconds in self.round() {
            let at = Duration::from_secs_f64(seconds);
            let (column, label) = (self.column(at), span::words(at));
            if seconds <= self.end && column >= line.len() + 2 && column + label.len() <= self.width {
                line = format!("{line:<column$}{label}");
            }
        }
        line
    }

    fn round(&self) -> Vec<f64> {
        if let Some(unit) = self.unit {
            return ROUND.iter().map(|seconds| *seconds as f64).filter(|seconds| *seconds >= unit).collect();
        }
        let steps = ROUND.iter().map(|step| *step as f64);
        // At least ten columns from one label to the next.
        let step = steps.into_iter().find(|step| self.end / step * 10.0 <= self.width as f64);
        let step = step.unwrap_or(self.end);
        (1..=self.width).map(|times| step * times as f64).take_while(|seconds| *seconds <= self.end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(width: usize, delays: &[u64]) -> Axis {
        let end = delays.iter().sum();
        Axis::new(width, Duration::from_secs(end), delays.iter().copied().map(Duration::from_secs))
    }

    fn columns(axis: &Axis, delays: &[u64]) -> Vec<usize> {
        let mut at = 0;
        let mut begins = vec![0];
        begins.extend(delays.iter().map(|delay| {
            at += delay;
            at
        }));
        begins.into_iter().map(|at| axis.column(Duration::from_secs(at))).collect()
    }

    #[test]
    fn delays_that_double_are_steps_of_one_size() {
        let delays = [2, 4, 8, 16, 32, 64, 128, 256, 512];
        let axis = axis(46, &delays);
        assert_eq!(columns(&axis, &delays), [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
        assert_eq!(axis.labels(), "0    2s  5s  10s    30s  1m   2m    5m   10m");
    }

    #[test]
    fn equal_delays_are_on_a_linear_axis() {
        let delays = [60; 9];
        let axis = axis(46, &delays);
        assert_eq!(columns(&axis, &delays), [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
        assert_eq!(axis.labels(), "0         2m        4m        6m        8m");
    }

    #[test]
    fn nothing_is_beyond_the_last_column() {
        for delays in [&[][..], &[0, 0], &[1], &[1, 100_000]] {
            let axis = axis(20, delays);
            assert_eq!(axis.column(Duration::MAX), 19);
            assert!(axis.labels().len() <= 20);
        }
    }
}
