//! The arguments of the command.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::compare::Comparison;

/// Measures redrive's consumers as Lambda would run them, beside hand-written ones
#[derive(Parser, Debug, PartialEq)]
#[command(version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand, Debug, PartialEq)]
pub(crate) enum Verb {
    /// Run everything that `make bench` has built, and write the tables into dev/bench/README.md
    Compare(Comparison),
    /// Count the instructions of the pure steps under callgrind and hold them against dev/bench/instructions.json
    Instructions {
        /// The driver that `make bench ONLY=instructions` has built
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
    fn a_comparison_is_of_everything_unless_scenarios_are_named() {
        let Verb::Compare(all) = parse("compare").unwrap() else { panic!("no comparison") };
        assert_eq!(all, Comparison { rounds: 9, only: Vec::new(), redrive: None });
        let some = parse("compare --rounds 5 --only small,waiting --redrive elsewhere").unwrap();
        let Verb::Compare(some) = some else { panic!("no comparison") };
        assert_eq!(some.only, ["small", "waiting"]);
        assert_eq!(some.redrive, Some("elsewhere".into()));
    }

    #[test]
    fn invalid_arguments_are_refused_with_the_allowed_ones() {
        for (words, says) in [
            ("compare --rounds 0", "0 is not in 1.."),
            ("compare --only smal", "the scenarios are cold, small"),
            ("compare --redrive elsewhere", "--only <SCENARIOS>"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(says), "{words}: {error}");
        }
    }
}
