//! The Rust of docs/, compiled as a documentation test.

#[doc = include_str!("../../../docs/idempotency.md")]
mod idempotency {}
