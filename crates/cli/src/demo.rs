//! `redrive local --demo`: this repository's demo function, template and messages, built into the command.

mod orders;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{ExitCode, Termination};

use anyhow::Context;
use redrive_local::command::arguments::LocalArguments;
use tempfile::TempDir;

use crate::local;
use crate::problem::{OrProblem, Problem};

const TEMPLATE: &str = include_str!("demo/template.yaml");
const MESSAGES: &str = include_str!("demo/demo.jsonl");

/// Name under which this executable runs the demo function.
const FUNCTION: &str = "orders";

/// Runs the demo function, and returns its exit code, if this process was started as it.
pub(crate) fn function() -> Option<ExitCode> {
    let name = std::env::args_os().next()?;
    (Path::new(&name).file_name()? == FUNCTION).then(|| orders::main().report())
}

/// Runs `redrive local`, with the demo if `--demo` is given.
pub(crate) fn run(arguments: &LocalArguments) -> Result<(), Problem> {
    if !arguments.demo {
        return local::run(arguments);
    }
    let demo = Demo::lay_out().or_failed()?;
    local::run(&demo.arguments(arguments))
}

/// A folder with the files of the demo, which is removed when the value is dropped.
#[derive(Debug)]
struct Demo {
    folder: TempDir,
}

impl Demo {
    fn lay_out() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("redrive-demo-").tempdir()?;
        let lay = || -> std::io::Result<()> {
            std::fs::write(folder.path().join("template.yaml"), TEMPLATE)?;
            std::fs::write(folder.path().join("demo.jsonl"), MESSAGES)?;
            symlink(std::env::current_exe()?, folder.path().join(FUNCTION))
        };
        lay().with_context(|| format!("could not write the demo into {}", folder.path().display()))?;
        Ok(Self { folder })
    }

    /// Returns the arguments for the demo. The given messages and parameters come before its own.
    fn arguments(&self, given: &LocalArguments) -> LocalArguments {
        let file = |name| self.folder.path().join(name);
        let mut arguments = given.clone();
        arguments.template = file("template.yaml");
        arguments.binary = vec![format!("OrdersFunction={}", file(FUNCTION).display())];
        if arguments.send.is_empty() {
            arguments.send = vec![file("demo.jsonl")];
        }
        // A handler that hangs is canceled after 2 s instead of 25.
        if !arguments.parameters.iter().any(|(name, _)| name == "MessageTimeLimit") {
            arguments.parameters.push(("MessageTimeLimit".to_owned(), "2".to_owned()));
        }
        arguments
    }
}
