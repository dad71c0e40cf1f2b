//! `redrive local --demo`: this repository's demo function, template and messages, inside of the command.

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

/// The name under which this executable is the demo function.
const FUNCTION: &str = "orders";

/// What the function ended with, if this process was started as the demo function.
pub(crate) fn function() -> Option<ExitCode> {
    let name = std::env::args_os().next()?;
    (Path::new(&name).file_name()? == FUNCTION).then(|| orders::main().report())
}

/// Runs `redrive local`, of the demo if that is asked for.
pub(crate) fn run(arguments: &LocalArguments) -> Result<(), Problem> {
    if !arguments.demo {
        return local::run(arguments);
    }
    let demo = Demo::lay_out().or_failed()?;
    local::run(&demo.arguments(arguments))
}

/// A folder with all that `redrive local` needs for the demo. It is removed with the value.
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

    /// The arguments that run it. Messages and parameters that were given come before those of the demo.
    fn arguments(&self, given: &LocalArguments) -> LocalArguments {
        let file = |name| self.folder.path().join(name);
        let mut arguments = given.clone();
        arguments.template = file("template.yaml");
        arguments.binary = vec![format!("OrdersFunction={}", file(FUNCTION).display())];
        if arguments.send.is_empty() {
            arguments.send = vec![file("demo.jsonl")];
        }
        // A handler that hangs is given up after 2 s instead of 25.
        if !arguments.parameters.iter().any(|(name, _)| name == "MessageTimeLimit") {
            arguments.parameters.push(("MessageTimeLimit".to_owned(), "2".to_owned()));
        }
        arguments
    }
}
