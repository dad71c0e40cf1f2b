//! `redrive` with `redrive local` alone, for `make run`.

use std::process::ExitCode;

use clap::Parser;
use redrive_stack::arguments::LocalArguments;
use redrive_stack::{demo, local, output, problem};

#[derive(Debug, Parser)]
#[command(name = "redrive")]
enum Verb {
    Local(LocalArguments),
}

fn main() -> ExitCode {
    if let Some(code) = demo::function() {
        return code;
    }
    match output::parse() {
        Ok(Verb::Local(arguments)) => problem::exit(local::run(&arguments)),
        Err(code) => code,
    }
}
