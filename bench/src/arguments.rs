//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use redrive_bench::event::Batch;

use crate::compare::Comparison;
use crate::run::Load;

/// A Lambda Runtime API that feeds SQS events to any bootstrap and measures it
#[derive(Parser, Debug, PartialEq)]
#[command(version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand, Debug, PartialEq)]
pub(crate) enum Verb {
    /// Print an event
    Event(Batch),
    /// Run one program and print its figures as JSON
    Run {
        #[command(flatten)]
        load: Load,
        /// KEY=VALUE words, a program, and its arguments
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Run everything that `make bench` has built, write bench/benchmarks.jsonl, and the table into bench/README.md
    Compare(Comparison),
    /// Count the instructions of the pure steps under callgrind and hold them against bench/instructions.json
    Instructions {
        /// The driver that `make instructions` has built
        #[arg(long, value_name = "PATH", default_value = "target/release/steps")]
        steps: PathBuf,
        /// Write the file anew
        #[arg(long)]
        update: bool,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(words: &str) -> Result<Verb, String> {
        let words = std::iter::once("redrive-bench").chain(words.split(' '));
        Arguments::try_parse_from(words).map(|arguments| arguments.verb).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_run_has_a_load_and_a_command() {
        let Verb::Run { load, command } = parse(
            "run --messages 5500 --body 200 --cpus 0.29 --service-ms 7 --https -- A=1 ./bootstrap --flag",
        )
        .unwrap() else {
            panic!("not a run")
        };
        assert_eq!(load.batch, Batch { messages: 5500, body: 200, fail_every: 0 });
        assert_eq!((load.cpus, load.https, load.invocations, load.warm_up), (Some(0.29), true, 200, 20));
        assert_eq!((load.aws_ms, load.service_ms), (0, 7));
        assert_eq!(command, ["A=1", "./bootstrap", "--flag"]);
    }

    #[test]
    fn a_comparison_is_of_everything_unless_scenarios_are_named() {
        let Verb::Compare(all) = parse("compare").unwrap() else { panic!("no comparison") };
        assert_eq!(all, Comparison { rounds: 9, only: Vec::new(), redrive: None });
        let some = parse("compare --rounds 5 --only small,waiting --redrive elsewhere").unwrap();
        let Verb::Compare(some) = some else { panic!("no comparison") };
        assert_eq!(some.only, ["small", "waiting"]);
        assert_eq!(some.redrive, Some("elsewhere".into()));
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_what_is_allowed() {
        for (words, says) in [
            ("event --body 10", "a body has at least 97 bytes"),
            ("run --invocations 0 -- x", "0 is not in 1.."),
            ("run --cpus 0 -- x", "from 0.05 to 64"),
            ("compare --rounds 0", "0 is not in 1.."),
            ("compare --only smal", "the scenarios are cold, small"),
            ("compare --redrive elsewhere", "--only <SCENARIOS>"),
            ("run", "COMMAND"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(says), "{words}: {error}");
        }
    }
}
