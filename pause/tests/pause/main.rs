//! A function with its mapping, paused by real clients in virtual time.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod shop;
mod outage;
