//! `redrive` with `redrive local` alone, for `make run`.

use std::process::ExitCode;

use clap::Parser;
use redrive_stack::arguments::LocalArguments;
use redrive_stack::{local, problem};

#[derive(Debug, Parser)]
#[command(name = "redrive")]
enum Verb {
    Local(LocalArguments),
}

fn main() -> ExitCode {
    let Verb::Local(arguments) = Verb::parse();
    problem::exit(local::run(&arguments))
}
