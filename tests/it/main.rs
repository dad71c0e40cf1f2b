//! What redrive does, end to end: the real SDK clients against redrive-local, and the real binary under the real
//! Runtime API.

mod support;

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
