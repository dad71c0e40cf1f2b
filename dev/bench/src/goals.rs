//! The goals of redrive, each a comparison of two measured values.

use crate::compare::Results;
use crate::figures::Figure::{
    self, BinaryMb, ColdMs, CpuMs, FirstCpuMs, InvocationsPerSecond, P50Ms, P99Ms, PeakMib,
};
use crate::target::Target::{self, Baseline, BaselineCurrentThread, Redrive};

/// The limit of redrive's value relative to the other.
#[derive(Debug, Clone, Copy)]
enum GoalLimit {
    AtMost(f64),
    AtMostTimes(f64),
    AtMostMore(f64),
    TimesAtLeast(f64),
}

/// A scenario, and a figure that is measured in it.
type Value = (&'static str, Figure);

/// A row of the table: redrive's value, and whose value it is compared with.
type Goal = (&'static str, Value, (Target, Value), GoalLimit);

const SMALL_CPU: Value = ("small", CpuMs);
const SMALL_TIME: Value = ("small", P50Ms);
const TEN_TIME: Value = ("batch-10", P50Ms);
const LARGE_TIME: Value = ("batch-5500", P50Ms);
const LARGE_MEMORY: Value = ("batch-5500", PeakMib);
const COLD: Value = ("cold", ColdMs);
const BINARY: Value = ("built", BinaryMb);
const THROTTLED: Value = ("throttled", InvocationsPerSecond);
const THROTTLED_P99: Value = ("throttled", P99Ms);
const ASKING_TIME: Value = ("asking", P50Ms);
const ASKING_CPU: Value = ("asking", CpuMs);

#[rustfmt::skip]
const GOALS: [Goal; 14] = [
    ("CPU per invocation, 10 messages of 1 KiB", SMALL_CPU, (Baseline, SMALL_CPU), GoalLimit::AtMostTimes(0.62)),
    ("CPU per invocation, 10 messages of 1 KiB", SMALL_CPU, (BaselineCurrentThread, SMALL_CPU), GoalLimit::AtMostTimes(1.0)),
    ("time per batch, 10 messages of 1 KiB", SMALL_TIME, (Baseline, SMALL_TIME), GoalLimit::AtMostTimes(0.70)),
    ("time per batch, 10 messages of 200 bytes", TEN_TIME, (Baseline, TEN_TIME), GoalLimit::AtMostTimes(0.70)),
    ("time per batch, 5,500 messages of 200 bytes", LARGE_TIME, (Baseline, LARGE_TIME), GoalLimit::AtMostTimes(0.55)),
    ("peak memory at 5,500", LARGE_MEMORY, (Baseline, LARGE_MEMORY), GoalLimit::AtMostTimes(0.80)),
    ("invocations with 0.29 of a CPU (512 MB)", THROTTLED, (Baseline, THROTTLED), GoalLimit::TimesAtLeast(1.3)),
    ("99th percentile with 0.29 of a CPU", THROTTLED_P99, (Baseline, THROTTLED_P99), GoalLimit::AtMost(1.0)),
    ("time per batch, 10 handlers ask a service that takes 5 ms", ASKING_TIME, (Baseline, ASKING_TIME), GoalLimit::AtMost(8.0)),
    ("CPU per invocation, 10 handlers ask a service", ASKING_CPU, (Baseline, ASKING_CPU), GoalLimit::AtMostTimes(0.9)),
    ("time of 100 failing messages, AWS takes 5 ms", ("waiting-failing", P50Ms),
        (Redrive, ("waiting-succeeding", P50Ms)), GoalLimit::AtMostMore(12.0)),
    ("CPU of the first failing batch, AWS over HTTPS", ("https-failing", FirstCpuMs),
        (Redrive, ("https-succeeding", FirstCpuMs)), GoalLimit::AtMostMore(3.0)),
    ("cold start, AWS clients ready", COLD, (Baseline, COLD), GoalLimit::AtMostMore(2.0)),
    ("binary, stripped", BINARY, (Baseline, BINARY), GoalLimit::AtMost(7.0)),
];

const NOT_MEASURED: &str = "not measured";

/// A goal and its result, as text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) goal: String,
    pub(crate) redrive: String,
    pub(crate) other: String,
    pub(crate) ratio: String,
    pub(crate) verdict: String,
}

impl Row {
    /// Returns true if the goal was measured, or if the reason why not is known.
    pub(crate) fn is_measured(&self) -> bool {
        self.verdict != NOT_MEASURED
    }
}

pub(crate) fn rows(results: &Results) -> Vec<Row> {
    GOALS.iter().map(|goal| row(goal, results)).collect()
}

fn row(&(what, value, (target, compared), limit): &Goal, results: &Results) -> Row {
    let unit = value.1.unit();
    let name = if target == Redrive { "without failures" } else { target.name() };
    let goal = limit.in_words(unit);
    let (Some(redrive), Some(other)) =
        (results.median(Redrive, value.0, value.1), results.median(target, compared.0, compared.1))
    else {
        let reason = results.left_out.get(value.0).map_or(NOT_MEASURED, String::as_str);
        return Row { what, goal, other: name.to_owned(), verdict: reason.to_owned(), ..Row::default() };
    };
    let (ratio, met) = limit.compare(redrive, other, unit);
    Row {
        what,
        goal,
        redrive: in_digits(redrive, unit),
        other: format!("{name} {}", in_digits(other, unit)),
        ratio,
        verdict: if met { "yes" } else { "**no**" }.to_owned(),
    }
}

impl GoalLimit {
    fn in_words(self, unit: &str) -> String {
        match self {
            Self::AtMost(most) => format!("at most {most} {unit}"),
            Self::AtMostTimes(most) => format!("at most {most:.2} x"),
            Self::AtMostMore(most) => format!("at most {most} {unit} more"),
            Self::TimesAtLeast(least) => format!("at least {least} x"),
        }
    }

    /// Returns the comparison of both values as text, and true if it is within the limit.
    fn compare(self, redrive: f64, other: f64, unit: &str) -> (String, bool) {
        match self {
            Self::AtMost(most) => (format!("{:.2} x", redrive / other), redrive <= most),
            Self::AtMostTimes(most) => (format!("{:.2} x", redrive / other), redrive / other <= most),
            Self::AtMostMore(most) => (format!("{:+.2} {unit}", redrive - other), redrive - other <= most),
            Self::TimesAtLeast(least) => (format!("{:.2} x", redrive / other), redrive / other >= least),
        }
    }
}

/// Formats a value with three significant digits, or all before the point.
pub(crate) fn in_digits(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        small if small >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;
    use crate::scenario::scenarios;

    fn results(values: &[(Target, Value, f64)]) -> Results {
        let mut results = Results::default();
        for &(target, (scenario, figure), value) in values {
            let targets = results.scenarios.entry(scenario.to_owned()).or_default();
            targets.insert(target, Figures::from([(figure, value)]));
        }
        results
    }

    #[track_caller]
    fn check(limit: GoalLimit, redrive: f64, other: f64, ratio: &str, verdict: &str) {
        let results = results(&[(Redrive, COLD, redrive), (Baseline, COLD, other)]);
        let row = row(&("cold start", COLD, (Baseline, COLD), limit), &results);
        assert_eq!((row.ratio.as_str(), row.verdict.as_str()), (ratio, verdict));
    }

    #[test]
    fn a_goal_is_met_up_to_its_limit_and_missed_beyond() {
        check(GoalLimit::AtMost(7.0), 7.0, 1.0, "7.00 x", "yes");
        check(GoalLimit::AtMost(7.0), 7.1, 1.0, "7.10 x", "**no**");
        check(GoalLimit::AtMostTimes(0.65), 0.65, 1.0, "0.65 x", "yes");
        check(GoalLimit::AtMostTimes(0.65), 0.66, 1.0, "0.66 x", "**no**");
        check(GoalLimit::AtMostMore(3.0), 5.0, 2.0, "+3.00 ms", "yes");
        check(GoalLimit::AtMostMore(3.0), 5.5, 2.0, "+3.50 ms", "**no**");
        check(GoalLimit::TimesAtLeast(2.5), 5.0, 2.0, "2.50 x", "yes");
        check(GoalLimit::TimesAtLeast(2.5), 4.0, 2.0, "2.00 x", "**no**");
    }

    #[test]
    fn a_scenario_that_was_left_out_has_its_reason_in_the_row() {
        let mut results = results(&[(Redrive, SMALL_CPU, 0.1)]);
        results.left_out.insert("throttled".to_owned(), "no control groups".to_owned());
        let rows = rows(&results);
        let verdict = |scenario: &str, target: Target| {
            let at = GOALS.iter().position(|(_, value, other, _)| value.0 == scenario && other.0 == target);
            rows[at.unwrap()].verdict.as_str()
        };
        assert_eq!(verdict("throttled", Baseline), "no control groups");
        assert_eq!(verdict("small", Baseline), "not measured");
        let measured = rows.iter().filter(|row| row.is_measured()).count();
        assert_eq!(measured, 2, "those that are throttled");
    }

    #[test]
    fn every_goal_compares_what_a_scenario_measures() {
        let names: Vec<_> = scenarios().into_iter().map(|it| (it.name, it.targets)).collect();
        for (what, value, (target, compared), _) in GOALS {
            for (target, (scenario, _)) in [(Redrive, value), (target, compared)] {
                let measured =
                    |(name, targets): &(&str, &[Target])| *name == scenario && targets.contains(&target);
                assert!(scenario == "built" || names.iter().any(measured), "{what}: {scenario}");
            }
        }
    }
}
