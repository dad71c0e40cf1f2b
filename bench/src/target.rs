//! What is compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::bootstrap::Bootstrap;

/// A consumer that does the same job as the others.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Target {
    Baseline,
    BaselineCurrentThread,
    Redrive,
    PowertoolsPython,
    PowertoolsTypescript,
}

/// What its handlers do with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// Decode it, and nothing else.
    Orders,
    /// And ask a service.
    Asking,
    /// And remember in DynamoDB that it is done.
    Once,
    /// And insert it into a table.
    Inserting,
    /// And insert it into a table, together with the others of its batch.
    InsertingInBulk,
}

impl Job {
    /// How the programs in Rust are called that do it.
    fn program(self, target: &str) -> String {
        match self {
            Self::Orders => target.to_owned(),
            Self::Asking => format!("{target}-asking"),
            Self::Once => "once".to_owned(),
            Self::Inserting => "inserting".to_owned(),
            Self::InsertingInBulk => "inserting-bulk".to_owned(),
        }
    }
}

/// Where programs are.
#[derive(Debug)]
pub(crate) struct Folders {
    root: PathBuf,
    by_hand: PathBuf,
    redrive: PathBuf,
}

impl Folders {
    /// As `make bench` builds them below `root`, save that redrive's consumers may be elsewhere.
    pub(crate) fn new(root: &Path, redrive: Option<&Path>) -> Self {
        let built = root.join("target/release");
        Self {
            root: root.to_owned(),
            redrive: redrive.map_or_else(|| built.clone(), |folder| root.join(folder)),
            by_hand: built,
        }
    }
}

impl Target {
    pub(crate) const ALL: [Self; 5] = [
        Self::Baseline,
        Self::BaselineCurrentThread,
        Self::Redrive,
        Self::PowertoolsPython,
        Self::PowertoolsTypescript,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "hand-written",
            Self::BaselineCurrentThread => "hand-written, `current_thread`",
            Self::Redrive => "redrive",
            Self::PowertoolsPython => "Powertools for Python",
            Self::PowertoolsTypescript => "Powertools for TypeScript",
        }
    }

    /// The program that does the job; where only one job is asked of a target, it is that one.
    pub(crate) fn bootstrap(self, job: Job, folders: &Folders) -> Bootstrap {
        let Folders { root, by_hand, redrive } = folders;
        let program = |folder: &Path, name: &str| Bootstrap {
            program: folder.join(job.program(name)),
            ..Bootstrap::default()
        };
        let bench = root.join("target/bench");
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        match self {
            Self::Baseline => program(by_hand, "baseline"),
            Self::BaselineCurrentThread => program(by_hand, "baseline-current-thread"),
            Self::Redrive => program(redrive, "consumer"),
            Self::PowertoolsPython => Bootstrap {
                program: bench.join("venv/bin/python"),
                arguments: words(&["-m", "awslambdaric", python(job)]),
                folder: Some(root.join("bench/python")),
                environment: vec![("PYTHONPATH".to_owned(), ".".to_owned())],
            },
            Self::PowertoolsTypescript => Bootstrap {
                program: "node".into(),
                arguments: words(&["node_modules/aws-lambda-ric/bin/index.mjs", "app.handler"]),
                folder: Some(bench.join("node")),
                environment: Vec::new(),
            },
        }
    }

    /// Why it cannot be measured here, if somebody has said so.
    pub(crate) fn left_out(self, root: &Path) -> Option<String> {
        match self {
            Self::PowertoolsTypescript => fs::read_to_string(root.join("target/bench/node.left-out"))
                .ok()
                .map(|reason| reason.trim().to_owned()),
            Self::Baseline | Self::BaselineCurrentThread | Self::Redrive | Self::PowertoolsPython => None,
        }
    }

    pub(crate) const fn is_in_rust(self) -> bool {
        match self {
            Self::Baseline | Self::BaselineCurrentThread | Self::Redrive => true,
            Self::PowertoolsPython | Self::PowertoolsTypescript => false,
        }
    }

    /// The size of its binary, if it is one of its own.
    pub(crate) fn binary_mb(self, folders: &Folders) -> anyhow::Result<Option<f64>> {
        if !self.is_in_rust() {
            return Ok(None);
        }
        let program = self.bootstrap(Job::Orders, folders).program;
        let built = fs::metadata(&program).with_context(|| program.display().to_string())?;
        Ok(Some(built.len() as f64 / 1e6))
    }
}

/// The handler in `bench/python` that does the job.
const fn python(job: Job) -> &'static str {
    match job {
        Job::Orders | Job::Asking | Job::Once => "app.handler",
        Job::Inserting | Job::InsertingInBulk => "inserting.handler",
    }
}

/// The first line that a command prints.
pub(crate) fn says(program: &Path, argument: &str) -> anyhow::Result<String> {
    let output = Command::new(program)
        .arg(argument)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
