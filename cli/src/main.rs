//! The `redrive` command.
#![allow(clippy::disallowed_methods, reason = "a shell: its rules take the time as an argument")]

mod arguments;
mod ask;
mod aws;
mod completions;
mod dlq;
mod doctor;
mod find;
mod escape;
mod input;
mod letters;
mod local;
mod manual;
mod messages;
mod problem;
mod queue;
mod schedule;
mod scratch;
mod send;
mod span;
mod sqs;
mod subject;
mod tell;
mod template;
mod wait;
mod width;

use std::io::Write;
use std::process::ExitCode;

use arguments::{Arguments, Verb};
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.verb {
        Verb::Local(arguments) => local::run(arguments),
        Verb::Doctor(arguments) => doctor::run(arguments),
        Verb::Schedule(arguments) => schedule::run(arguments),
        Verb::Dlq(arguments) => dlq::run(arguments),
        Verb::Queue(arguments) => queue::run(arguments),
        Verb::Send(arguments) => send::run(arguments),
        Verb::Completions(arguments) => completions::run(arguments),
        Verb::Man(arguments) => manual::run(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has seen enough, as `head` does.
        Err(problem) if problem.is_broken_pipe() => ExitCode::SUCCESS,
        Err(problem) => {
            // Nobody is left to tell if stderr is gone.
            let _ = writeln!(std::io::stderr(), "redrive: {problem}");
            problem.exit_code()
        }
    }
}
