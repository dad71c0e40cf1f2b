//! The faults of a run: a random half of all faults and features, so that the others do not hide a rare fault.

use std::env::var;
use std::fmt;

use fastrand::Rng;

/// The seed of a run, and what is muted in it. It prints as the variables that repeat the run.
#[derive(Debug, Clone)]
pub(crate) struct Swarm {
    seed: u64,
    muted: Vec<String>,
}

impl Swarm {
    /// Mutes a random half of these, or those that `REDRIVE_MUTED` names.
    pub(crate) fn new(seed: u64, names: &[&str]) -> Self {
        let mut rng = Rng::with_seed(!seed);
        let muted = match var("REDRIVE_MUTED") {
            Ok(muted) => muted.split(',').map(str::to_owned).collect(),
            Err(_) => names.iter().filter(|_| rng.bool()).map(|&name| name.to_owned()).collect(),
        };
        Self { seed, muted }
    }

    /// Whether something happens in this run, by its name: of a fault, the name of the variant.
    pub(crate) fn has(&self, name: impl fmt::Debug) -> bool {
        let name = format!("{name:?}");
        let name = name.trim_matches('"').split('(').next().unwrap_or_default();
        !self.muted.iter().any(|muted| muted == name)
    }
}

impl fmt::Display for Swarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "REDRIVE_SEED={} REDRIVE_MUTED={}", self.seed, self.muted.join(","))
    }
}

/// How many seeds are run: so few, or as many as `REDRIVE_RUNS` says.
pub(crate) fn runs(few: u64) -> u64 {
    var("REDRIVE_RUNS").map_or(few, |runs| runs.parse().unwrap())
}

/// The same text without what differs in each run: the wall clock, and ids and receipt handles, which get names in their order.
pub(crate) fn without_ids(text: &str) -> String {
    let mut known = Vec::new();
    let name = |part: &str| {
        if part.get(4..5) == Some("-") && part.get(10..11) == Some("T") {
            return "a time".to_owned();
        }
        if part.len() < 36 || part.contains(char::is_whitespace) {
            return part.to_owned();
        }
        let at = known.iter().position(|it| it == part).unwrap_or_else(|| {
            known.push(part.to_owned());
            known.len() - 1
        });
        format!("#{at}")
    };
    text.split('"').map(name).collect::<Vec<_>>().join("\"")
}
