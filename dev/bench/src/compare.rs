//! The comparison: every scenario with every target, round by round, so that no target has a quiet hour to itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::figures::{Figure, Figures, medians};
use crate::machine::machine;
use crate::run::run;
use crate::scenario::{self, THROTTLED};
use crate::target::{Folders, Target};
use crate::throttle::Throttle;

/// What is compared, and how often.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Rounds, each of which runs everything
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    #[arg(
        long,
        value_name = "SCENARIOS",
        value_delimiter = ',',
        value_parser = scenario::word,
        help = format!(
            "Only these scenarios, with commas between them; prints the table and writes no file. There are {}; the \
             first word alone is all that begin with it",
            scenario::names()
        )
    )]
    pub(crate) only: Vec<String>,
    /// Where redrive's consumers are, if they were built elsewhere [default: target/release]
    #[arg(long, value_name = "FOLDER", requires = "only")]
    pub(crate) redrive: Option<PathBuf>,
}

/// The results of a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Results {
    /// Description of the machine and the compiler.
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    /// True if only some scenarios were requested. The tables omit the others.
    pub(crate) partial: bool,
    /// The reason for each scenario that is absent.
    pub(crate) left_out: BTreeMap<String, String>,
    pub(crate) scenarios: BTreeMap<String, BTreeMap<Target, Figures>>,
}

/// Runs everything in rounds, and reports its progress.
pub(crate) fn compare(
    comparison: &Comparison,
    root: &Path,
    mut progress: impl FnMut(usize, &str),
) -> anyhow::Result<Results> {
    let rounds = usize::from(comparison.rounds);
    let partial = !comparison.only.is_empty();
    let folders = Folders::new(root, comparison.redrive.as_deref());
    let mut left_out = BTreeMap::new();
    let mut scenarios = scenario::called(&comparison.only);
    if scenarios.iter().any(|scenario| scenario.load.cpus.is_some())
        && let Err(problem) = Throttle::new(THROTTLED)
    {
        left_out.insert("throttled".to_owned(), format!("{problem:#}"));
        scenarios.retain(|scenario| scenario.load.cpus.is_none());
    }

    let mut measured: BTreeMap<(&str, Target), Vec<Figures>> = BTreeMap::new();
    for round in 0..rounds {
        for scenario in &scenarios {
            progress(round + 1, scenario.name);
            let mut targets = scenario.targets.to_vec();
            let first = round % targets.len();
            targets.rotate_left(first);
            for target in targets.repeat(scenario.times) {
                let program = target.program(scenario.work, &folders);
                let figures = run(&scenario.load, &program)
                    .with_context(|| format!("{}, {}", scenario.name, target.name()))?;
                measured.entry((scenario.name, target)).or_default().push(figures);
            }
        }
    }

    for target in Target::ALL {
        let figures = Figures::from([(Figure::BinaryMb, target.binary_mb(&folders)?)]);
        measured.insert(("built", target), vec![figures]);
    }
    let mut results = Results { machine: machine()?, rounds, partial, left_out, scenarios: BTreeMap::new() };
    for ((scenario, target), rounds) in measured {
        results.scenarios.entry(scenario.to_owned()).or_default().insert(target, medians(&rounds));
    }
    Ok(results)
}

impl Results {
    pub(crate) fn median(&self, target: Target, scenario: &str, figure: Figure) -> Option<f64> {
        self.scenarios.get(scenario)?.get(&target)?.get(&figure).copied()
    }
}
