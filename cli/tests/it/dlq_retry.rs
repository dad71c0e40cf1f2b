//! `redrive dlq retry`: letters go back, none is lost, and what may be twice is named.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batches;
mod crash;
mod edit;
mod faults;
mod fifo;
pub(crate) mod letters;
mod native;
mod question;
mod strip;
mod volume;
