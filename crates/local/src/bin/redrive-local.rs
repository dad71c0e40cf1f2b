//! `redrive local` alone, for containers and `make run`: without the AWS SDKs of the other verbs, and without `--demo`.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::Parser;
use redrive_local::command::arguments::LocalArguments;
use redrive_local::command::problem::{self, Problem};
use redrive_local::command::{local, output};

#[derive(Debug, Parser)]
#[command(name = "redrive-local", version)]
struct Alone {
    #[command(flatten)]
    arguments: LocalArguments,
}

fn main() -> ExitCode {
    match output::parse::<Alone>() {
        Ok(alone) if alone.arguments.demo => {
            problem::exit(Err(Problem::Input(anyhow!("--demo is a flag of the command redrive"))))
        }
        Ok(alone) => problem::exit(local::run(&alone.arguments)),
        Err(code) => code,
    }
}
