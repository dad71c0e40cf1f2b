//! What the command `redrive` needs for `redrive local`, without the AWS SDKs of its other verbs: those take longer to
//! compile than everything else, and `make run` does without.
//!
//! For the command alone: nothing here is kept as it is for others.
#![allow(clippy::disallowed_methods, reason = "a shell: its rules take the time as an argument")]
#![expect(
    missing_docs,
    missing_debug_implementations,
    clippy::must_use_candidate,
    reason = "for the command alone"
)]

pub mod arguments;
pub mod ask;
pub mod aws;
pub mod demo;
pub mod input;
pub mod local;
pub mod messages;
pub mod nearest;
pub mod output;
pub mod problem;
pub mod subject;
pub mod template;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod properties;
