//! The Rust of docs/, compiled and run as documentation tests.

#[doc = include_str!("../../../docs/sending.md")]
mod sending {}
