//! What redrive does, end to end: the real SDK clients against redrive-local, and the real binary under the real
//! Runtime API.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

/// The table of outcomes that README.md prints.
mod readme;
/// What ARCHITECTURE.md says is so, as far as the source can show it.
mod structure;

/// Batches of every size, and calls that fail.
mod calls;
/// What happens when time runs out.
mod deadline;
/// Groups.
mod fifo;
/// What a letter carries.
mod letters;
/// Every row of the table of outcomes: response, visibility, letter, counts.
mod outcomes;
