//! Measures redrive. `make bench` and `make bench ONLY=instructions` run it from the root of the repository.
#![allow(clippy::disallowed_methods, reason = "it measures")]

mod arguments;
mod compare;
mod scenario;
mod goals;
mod table;
mod figures;
mod target;
mod machine;
mod run;
mod server;
mod aws;
mod certificate;
mod bootstrap;
mod throttle;
mod kernel;
mod instructions;

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use arguments::{Arguments, Verb};
use instructions::Counts;

const DOCUMENT: &str = "dev/bench/README.md";
const INSTRUCTIONS: &str = "dev/bench/instructions.json";

fn main() -> ExitCode {
    match execute(Arguments::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redrive-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn execute(verb: Verb) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match verb {
        Verb::Compare(comparison) => {
            let root = std::env::current_dir()?;
            let document = fs::read_to_string(DOCUMENT).context(DOCUMENT)?;
            let results = compare::compare(&comparison, &root, |round, scenario| {
                eprintln!("round {round} of {}: {scenario}", comparison.rounds);
            })?;
            let table = table::markdown(&results);
            if !results.partial {
                fs::write(DOCUMENT, table::insert(&document, &table).context(DOCUMENT)?)?;
            }
            out.write_all(table.as_bytes())?;
        }
        Verb::Instructions { steps, update } => {
            let counts = instructions::count(&steps)?;
            if update {
                let text = serde_json::to_string_pretty(&counts)? + "\n";
                fs::write(INSTRUCTIONS, text).context(INSTRUCTIONS)?;
            }
            let text = fs::read_to_string(INSTRUCTIONS).context(INSTRUCTIONS)?;
            let expected: Counts = serde_json::from_str(&text).context(INSTRUCTIONS)?;
            for line in counts.compare(&expected)? {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(())
}
