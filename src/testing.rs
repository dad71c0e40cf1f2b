//! Values for the tests of handlers. Tests of whole consumers use the package `redrive-local`.

pub use crate::message::record::RecordBuilder;
