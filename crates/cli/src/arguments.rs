//! The command line. Each verb interprets its own flags.

use clap::{Parser, Subcommand};
use redrive_local::command::arguments::LocalArguments;

use crate::{completions, console, dlq, doctor, fleet, manual, plan, queue, schedule, send, verify, work};

/// Runs redrive consumers on your machine and manages their dead letters.
#[derive(Debug, Parser)]
#[command(
    name = "redrive",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  redrive local --send messages.jsonl --speed max --until-idle
      runs the function of template.yaml on some messages, without waiting for delays
  redrive doctor --stack shop
      finds settings that lose or delay messages in a deployed stack
  redrive dlq list --stack shop
      shows what failed, how often and why
  redrive queue status --stack shop --watch
      shows counts, ages, mappings and alarms, refreshed every 5 seconds
  redrive local --port 9324 --stack shop
      stands in for AWS: call it from other commands with --endpoint-url http://127.0.0.1:9324

Every command has its own --help with examples."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Local(LocalArguments),
    Doctor(doctor::Arguments),
    Schedule(schedule::Arguments),
    Plan(plan::Arguments),
    Dlq(dlq::Arguments),
    Fleet(fleet::Arguments),
    Console(console::Arguments),
    Queue(queue::Arguments),
    Send(send::Arguments),
    Work(work::Arguments),
    Verify(verify::Arguments),
    Completions(completions::Arguments),
    Man(manual::Arguments),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }
}
