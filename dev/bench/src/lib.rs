//! The events that redrive is measured with.

pub mod event;
