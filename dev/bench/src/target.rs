//! The consumers that are compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// A consumer that does the same work as the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Baseline,
    BaselineCurrentThread,
    Redrive,
}

/// The work of the handlers on an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandlerWork {
    /// Decode it, and nothing else.
    Orders,
    /// Decode it, and ask a service.
    Asking,
}

/// Folders of the programs.
#[derive(Debug)]
pub(crate) struct Folders {
    by_hand: PathBuf,
    redrive: PathBuf,
}

impl Folders {
    /// Returns the folders of `make bench` below `root`. redrive's consumers may be elsewhere.
    pub(crate) fn new(root: &Path, redrive: Option<&Path>) -> Self {
        let by_hand = root.join("target/release");
        let redrive = redrive.map_or_else(|| by_hand.clone(), |folder| root.join(folder));
        Self { by_hand, redrive }
    }
}

impl Target {
    pub(crate) const ALL: [Self; 3] = [Self::Baseline, Self::BaselineCurrentThread, Self::Redrive];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "hand-written",
            Self::BaselineCurrentThread => "hand-written, `current_thread`",
            Self::Redrive => "redrive",
        }
    }

    /// Returns the program that does the work.
    pub(crate) fn program(self, work: HandlerWork, folders: &Folders) -> PathBuf {
        let (folder, name) = match self {
            Self::Baseline => (&folders.by_hand, "baseline"),
            Self::BaselineCurrentThread => (&folders.by_hand, "baseline-current-thread"),
            Self::Redrive => (&folders.redrive, "consumer"),
        };
        match work {
            HandlerWork::Orders => folder.join(name),
            HandlerWork::Asking => folder.join(format!("{name}-asking")),
        }
    }

    /// Returns the size of the binary in megabytes.
    pub(crate) fn binary_mb(self, folders: &Folders) -> anyhow::Result<f64> {
        let program = self.program(HandlerWork::Orders, folders);
        let built = fs::metadata(&program).with_context(|| program.display().to_string())?;
        Ok(built.len() as f64 / 1e6)
    }
}

/// Returns the first line that a command prints.
pub(crate) fn first_line(program: &Path, argument: &str) -> anyhow::Result<String> {
    let output = Command::new(program)
        .arg(argument)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
