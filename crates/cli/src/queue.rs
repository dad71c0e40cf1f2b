//! `redrive queue`: shows and changes a queue, its dead-letter queue and its mappings.

mod attach;
mod detach;
mod mappings;
mod names;
mod pause;
mod status;

use clap::{Args, Subcommand};

pub(crate) use self::names::forget_names;
use crate::problem::Problem;

/// Shows and changes a queue, its dead-letter queue and its event source mappings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive queue status --stack shop --watch
      shows counts, ages, mappings and alarms, refreshed every 5 seconds
  redrive queue pause --stack shop
      stops Lambda from polling the queue while a dependency is down; afterwards: redrive queue resume --stack shop
  redrive queue attach --queue orders
      gives the queue a dead-letter queue, orders-dead
  eval \"$(redrive queue names --stack shop)\"
      sets QUEUE_URL, FUNCTION, LOG_GROUP and others in the shell, for commands of the AWS CLI")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Status(status::Arguments),
    Names(names::Arguments),
    Attach(attach::Arguments),
    Detach(detach::Arguments),
    Pause(pause::Pause),
    Resume(pause::Resume),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    match &arguments.verb {
        Verb::Status(arguments) => status::run(arguments),
        Verb::Names(arguments) => names::run(arguments),
        Verb::Attach(arguments) => attach::run(arguments),
        Verb::Detach(arguments) => detach::run(arguments),
        Verb::Pause(arguments) => pause::pause(arguments),
        Verb::Resume(arguments) => pause::resume(arguments),
    }
}
