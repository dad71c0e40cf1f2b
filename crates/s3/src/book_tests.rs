//! The Rust of docs/, compiled and run as documentation tests.

#[doc = include_str!("../../../docs/large-messages.md")]
mod large_messages {}
