//! `redrive dlq retry`: sends letters back, loses none, and names those that may arrive twice.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod again;
mod batches;
mod crash;
mod edit;
mod faults;
pub(crate) mod letters;
mod named;
mod native;
mod question;
mod stages;
mod strip;
mod volume;
