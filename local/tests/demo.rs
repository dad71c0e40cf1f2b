//! `redrive local` alone, for `make run`: without the AWS SDKs of the other verbs, and without `--demo`.

use std::process::ExitCode;

use clap::Parser;
use redrive_local::command::arguments::LocalArguments;
use redrive_local::command::{local, output, problem};

#[derive(Debug, Parser)]
#[command(name = "demo", mut_arg("demo", |flag| flag.hide(true)))]
struct Demo {
    #[command(flatten)]
    arguments: LocalArguments,
}

fn main() -> ExitCode {
    match output::parse::<Demo>() {
        Ok(demo) => problem::exit(local::run(&demo.arguments)),
        Err(code) => code,
    }
}
