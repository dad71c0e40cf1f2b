//! The `redrive` command.

mod arguments;
mod local;
mod messages;
mod problem;
mod template;

use std::io::Write;
use std::process::ExitCode;

use arguments::{Arguments, Verb};
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.verb {
        Verb::Local(arguments) => local::run(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // Nobody is left to tell if stderr is gone.
            let _ = writeln!(std::io::stderr(), "redrive: {problem}");
            problem.exit_code()
        }
    }
}
