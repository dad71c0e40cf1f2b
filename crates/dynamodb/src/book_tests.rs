//! The Rust of docs/rates.md, compiled and run as documentation tests.

#[doc = include_str!("../../../docs/rates.md")]
mod rates {}
