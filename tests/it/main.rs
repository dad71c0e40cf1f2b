//! Tests redrive end to end: the real SDK clients against redrive-local, and the real binary under the real Runtime API.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

mod support;

/// The examples of docs/testing.md, word for word.
mod guide;
/// Bodies in a user's own format, read from a record that a test builds.
mod own_format;
/// The example with unit tests, which `cargo test` would only build.
#[path = "../../examples/tested.rs"]
#[expect(dead_code, reason = "its main is not run here")]
mod tested;
/// The tables of outcomes and settings that docs/reference.md prints.
mod reference;
/// The invariants of ARCHITECTURE.md, as far as the source can show them.
mod structure;
/// The errors of the compiler for wrong handlers.
mod compiler;
/// No example prints a sender's text.
mod prints;
/// The oldest Rust that compiles the workspace, as pages name it.
mod rust_version;
/// Commands that fetch or compile use the versions in lock files.
mod locked;

/// Alarms that the kit evaluates, as docs/testing.md links to it.
mod alarms;
/// A dead letter that SQS refuses, as docs/testing.md links to it.
mod faults;
/// Handlers that wait for a database, in real time.
mod databases;
/// Batches of every size, and calls that fail.
mod calls;
/// Batches that run out of time.
mod deadline;
/// The groups of FIFO queues.
mod fifo;
/// The content of dead letters.
mod letters;
/// Calls that are throttled, refused or lost, endpoints that hang, and connections that died.
mod settling;
/// User code that panics, blocks or contradicts itself.
mod user_code;
/// Hooks around handlers, and observers of messages.
mod hooks;
/// Handlers that take many messages at once.
mod bulk;
/// Messages that a store lets run only once.
mod once;
/// Every row of the table of outcomes: response, visibility, letter, counts.
mod outcomes;
mod overload;
/// Generated runs with every kind of fault, from the queue to the end of every message.
mod simulation;

/// The real SDK client over loopback.
mod clients;
/// Metrics and alarms by the real SDK clients.
mod cloudwatch;
/// Workers as real processes.
mod worker;
/// Workers in virtual time.
mod worker_clock;
/// Several consumers in one process.
mod consumers;
/// The probes of a worker.
mod worker_health;
/// Processes that are killed, or run into their timeout.
mod crashes;
/// Layers around the consumer, several batches at once, handlers that block.
mod layers;
/// Handlers that block their threads or use other threads.
mod threads;
/// Hooks that panic, hang or block, batch after batch.
mod hooks_in_turn;
/// Processes that can handle no more batches, and runs that are dropped.
mod process_ends;
/// Results that take effect while other messages still run.
mod streaming;
/// The context of handlers: task-locals, runtimes that are gone or have no timers, limits of time.
mod contexts;
/// The log lines of a function.
mod logs;
/// Events of every size through the Runtime API, answered byte for byte.
mod payloads;
/// Lambda's data besides the messages.
mod platform;
/// Pings, events of other services, and the test event of the console.
mod other_events;
/// Messages that end the process.
mod killers;
mod outages;
mod rates;
mod adaptive_concurrency;
/// Orders through the real function, from the queue to their end.
mod runtime;
/// Several queues that feed one function, and dead-letter queues that cannot be one.
mod queues;
/// Settings that are refused at the start, and deadlines that do not count.
mod start;
