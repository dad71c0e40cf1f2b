//! The Rust of docs/opentelemetry.md, compiled as a documentation test.

#[doc = include_str!("../../../docs/opentelemetry.md")]
mod opentelemetry {}
