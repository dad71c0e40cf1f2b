//! Runs only `redrive local`, for `make run`: without the AWS SDKs of the other verbs, and without `--demo`.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::Parser;
use redrive_local::command::arguments::LocalArguments;
use redrive_local::command::problem::{self, Problem};
use redrive_local::command::{local, output};

#[derive(Debug, Parser)]
#[command(name = "demo")]
struct Demo {
    #[command(flatten)]
    arguments: LocalArguments,
}

fn main() -> ExitCode {
    match output::parse::<Demo>() {
        Ok(demo) if demo.arguments.demo => {
            problem::exit(Err(Problem::Input(anyhow!("--demo is a flag of the command redrive"))))
        }
        Ok(demo) => problem::exit(local::run(&demo.arguments)),
        Err(code) => code,
    }
}
