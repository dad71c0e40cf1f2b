//! The comparison: every scenario with every target, round by round, so that no target has a quiet hour to itself.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use redrive_bench::event::Batch;
use serde_json::json;

use crate::figures::{Figure, Figures, Spreads, spreads};
use crate::machine::Machine;
use crate::run::{Load, run};
use crate::target::Target;
use crate::throttle::Throttle;

/// The share of a CPU that a function of 512 MB has.
const THROTTLED: f64 = 0.29;

/// One thing that targets are made to do.
#[derive(Debug, Clone)]
struct Scenario {
    name: String,
    load: Load,
    /// How often a round does it.
    times: usize,
    targets: &'static [Target],
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) rounds: usize,
    /// Why a target or a scenario is absent.
    pub(crate) left_out: BTreeMap<String, String>,
    pub(crate) scenarios: BTreeMap<String, BTreeMap<Target, Spreads>>,
}

const ONLY_REDRIVE: [Target; 1] = [Target::Redrive];

fn scenarios() -> Vec<Scenario> {
    let batch = |messages, body, fail_every| Batch { messages, body, fail_every };
    let load = |batch, invocations, warm_up| Load {
        batch,
        invocations,
        warm_up,
        aws_ms: 0,
        https: false,
        cpus: None,
    };
    let all = |name: &str, load| Scenario { name: name.to_owned(), load, times: 1, targets: &Target::ALL };
    let ours =
        |name: &str, load, times| Scenario { name: name.to_owned(), load, times, targets: &ONLY_REDRIVE };

    let once = |fail_every| load(batch(10, 1024, fail_every), 1, 0);
    let waiting = |fail_every| Load { aws_ms: 5, ..load(batch(100, 200, fail_every), 30, 5) };
    let mut scenarios = vec![
        Scenario { times: 3, ..all("cold", once(0)) },
        all("small", load(batch(10, 1024, 0), 400, 50)),
        all("throttled", Load { cpus: Some(THROTTLED), ..load(batch(10, 1024, 0), 800, 50) }),
        ours("https-succeeding", Load { https: true, ..once(0) }, 3),
        ours("https-failing", Load { https: true, ..once(10) }, 3),
        ours("waiting-succeeding", waiting(0), 1),
        ours("waiting-failing", waiting(1), 1),
    ];
    scenarios.extend([10, 100, 500, 1000, 2500, 5500].map(|messages| {
        let invocations = (40_000 / messages as u64).clamp(25, 200);
        all(&format!("batch-{messages}"), load(batch(messages, 200, 0), invocations, 5))
    }));
    scenarios
}

/// Runs everything in `rounds` rounds and tells where it is.
pub(crate) fn compare(
    root: &Path,
    rounds: usize,
    mut progress: impl FnMut(usize, &str),
) -> anyhow::Result<Results> {
    let mut left_out = BTreeMap::new();
    for target in Target::ALL {
        left_out.extend(target.left_out(root).map(|reason| (target.name().to_owned(), reason)));
    }
    let is_in = |target: &Target| !left_out.contains_key(target.name());
    let targets: Vec<Target> = Target::ALL.into_iter().filter(is_in).collect();
    let mut scenarios = scenarios();
    if let Err(problem) = Throttle::new(THROTTLED) {
        left_out.insert("throttled".to_owned(), format!("{problem:#}"));
        scenarios.retain(|scenario| scenario.load.cpus.is_none());
    }

    let mut measured: BTreeMap<(&str, Target), Vec<Figures>> = BTreeMap::new();
    for round in 0..rounds {
        for scenario in &scenarios {
            progress(round + 1, &scenario.name);
            let mut targets: Vec<_> =
                targets.iter().filter(|target| scenario.targets.contains(target)).copied().collect();
            let first = round % targets.len();
            targets.rotate_left(first);
            for target in targets.repeat(scenario.times) {
                let figures = run(&scenario.load, &target.bootstrap(root))
                    .with_context(|| format!("{}, {}", scenario.name, target.name()))?;
                measured.entry((&scenario.name, target)).or_default().push(figures);
            }
        }
    }

    for &target in &targets {
        if let Some(megabytes) = target.binary_mb(root)? {
            measured.insert(("built", target), vec![Figures::from([(Figure::BinaryMb, megabytes)])]);
        }
    }
    let machine = Machine::this(root, targets.contains(&Target::PowertoolsTypescript))?;
    let mut results = Results { machine, rounds, left_out, scenarios: BTreeMap::new() };
    for ((scenario, target), rounds) in measured {
        results.scenarios.entry(scenario.to_owned()).or_default().insert(target, spreads(&rounds));
    }
    Ok(results)
}

impl Results {
    /// What was measured on what, then a line for each scenario and target, all JSON.
    pub(crate) fn json_lines(&self) -> String {
        let mut lines =
            vec![json!({ "machine": self.machine, "rounds": self.rounds, "left_out": self.left_out })];
        for (scenario, targets) in &self.scenarios {
            lines.extend(targets.iter().map(
                |(target, figures)| json!({ "scenario": scenario, "target": target, "figures": figures }),
            ));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn median(&self, target: Target, scenario: &str, figure: Figure) -> Option<f64> {
        Some(self.scenarios.get(scenario)?.get(&target)?.get(&figure)?.median)
    }
}
