//! The `redrive` command.

// Where things are:
// - `doctor`: known problems of a deployment (`checks`), their words, and the report
// - `dlq`: the verbs about dead letters; `letters`: the code behind them, where `tracker` decides about each letter (pure)
// - `journal`: a file that survives a killed run; `history`: a file that stays; `store`: their folder, or a DynamoDB table
// - `fleet`, `console`: all dead-letter queues of several accounts, in the terminal and on a page
// - `sqs`: calls to SQS: batches, FIFO order (`guard`), hidden letters (`lease`), signals
// - `plan`: `redrive plan`, which runs the real consumer on the kit; `work`: a worker that runs programs or posts to an app
// - `verify`: sends messages to workers that it kills, and counts what happens to them (`tally`, pure)
// - `queue`, `send`, `schedule`, `demo`: the other verbs; `target`, `aws`: what a verb acts on, and the clients
// - `deployed`: stacks and functions, read from AWS; `find`: queues by stack, function or name
// - `output`, `problem`, `ask` and `shell` are in `redrive_local::command`

#![allow(clippy::disallowed_methods, reason = "a shell: its rules take the time as an argument")]

mod arguments;
mod aws;
mod completions;
mod console;
mod counted;
mod demo;
mod dlq;
mod doctor;
mod find;
mod fleet;
mod flags;
mod escape;
mod history;
mod journal;
mod letters;
mod deployed;
mod manual;
mod plan;
mod queue;
mod schedule;
mod scratch;
mod send;
mod span;
mod sqs;
mod store;
mod target;
mod tell;
mod verify;
mod wait;
mod watch;
mod width;
mod work;

use std::process::ExitCode;

use redrive_iac::nearest;
use redrive_local::command::{ask, input, local, messages, output, problem, shell};

use arguments::{Arguments, Verb};

fn main() -> ExitCode {
    if let Some(code) = demo::function() {
        return code;
    }
    if let Some(code) = verify::worker() {
        return code;
    }
    let arguments: Arguments = match output::parse() {
        Ok(arguments) => arguments,
        Err(code) => return queue::forget_names(code),
    };
    let result = match &arguments.verb {
        Verb::Local(arguments) => demo::run(arguments),
        Verb::Doctor(arguments) => doctor::run(arguments),
        Verb::Schedule(arguments) => schedule::run(arguments),
        Verb::Plan(arguments) => plan::run(arguments),
        Verb::Dlq(arguments) => dlq::run(arguments),
        Verb::Fleet(arguments) => fleet::run(arguments),
        Verb::Console(arguments) => console::run(arguments),
        Verb::Queue(arguments) => queue::run(arguments),
        Verb::Send(arguments) => send::run(arguments),
        Verb::Work(arguments) => work::run(arguments),
        Verb::Verify(arguments) => verify::run(arguments),
        Verb::Completions(arguments) => completions::run(arguments),
        Verb::Man(arguments) => manual::run(arguments),
    };
    problem::exit(result)
}
