#![doc = include_str!("crate.md")]
// `handler_spans` makes a span of each handler call, from `around` until `settled`. `flushing` exports them.
#![allow(clippy::disallowed_methods, reason = "spans have times")]
#![warn(clippy::exhaustive_enums)]

mod telemetry;
mod handler_spans;
mod links;
mod instruments;
mod flushing;
mod conventions;

#[cfg(doctest)]
mod book_tests;

pub use telemetry::Telemetry;
