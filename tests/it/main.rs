//! What redrive does, end to end: the real SDK clients against redrive-local, and the real binary under the real
//! Runtime API.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

mod support;

/// The examples of docs/testing.md, word for word.
mod guide;
/// An alarm on a queue to which nothing is sent.
/// Bodies in a format of one's own, read from a record that a test builds.
mod own_format;
/// The example with unit tests, which `cargo test` would only build.
#[path = "../../examples/tested.rs"]
#[expect(dead_code, reason = "its main is not run here")]
mod tested;
/// The tables of outcomes and settings that docs/reference.md prints.
mod reference;
/// What ARCHITECTURE.md says is so, as far as the source can show it.
mod structure;
/// No example prints what a sender wrote.
mod prints;
/// The oldest Rust that compiles all this, as pages name it.
mod rust_version;
/// What is fetched and compiled here is what lock files name.
mod locked;

/// Batches of every size, and calls that fail.
mod calls;
/// What happens when time runs out.
mod deadline;
/// Groups.
mod fifo;
/// What a letter carries.
mod letters;
/// Calls that are throttled, refused or lost, endpoints that hang, and connections that died.
mod settling;
/// Code of the user's that panics, blocks or contradicts itself.
mod user_code;
/// Code around handlers, and those who are told of each message.
mod hooks;
/// Handlers that take many messages at once.
mod bulk;
/// Each message once, with a store.
mod once;
/// Every row of the table of outcomes: response, visibility, letter, counts.
mod outcomes;
mod overload;
/// Generated runs, from the queue to the end of every message, with everything going wrong that can.
mod simulation;

/// The real SDK client over loopback.
mod clients;
/// Metrics and alarms by the real SDK clients.
mod cloudwatch;
/// Workers as real processes.
mod worker;
/// Workers in virtual time.
mod worker_clock;
/// The probes of a worker.
mod worker_health;
/// Processes that are killed, and such as run into their timeout.
mod crashes;
/// Layers around the consumer, several batches at once, handlers that block.
mod layers;
/// Handlers that keep their threads, and those of others.
mod threads;
/// Hooks that panic, hang or block, batch after batch.
mod hooks_in_turn;
/// Processes that can handle no more batches, and runs that are dropped.
mod process_ends;
/// What takes effect while others still run.
mod streaming;
/// What handlers find around them: task-locals, runtimes that are gone or have no timers, limits of time.
mod contexts;
/// What the function writes to its log.
mod logs;
/// Events of every size through the Runtime API, answered byte for byte.
mod payloads;
/// What Lambda says besides the messages.
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
/// Settings that are refused at the start, and deadlines that are none.
mod start;
