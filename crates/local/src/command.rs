//! `redrive local`, and what other verbs of the command `redrive` share with it: arguments, files, output, and where AWS is.
//!
//! For the command alone: nothing here is kept as it is for others.

pub mod arguments;
pub mod ask;
pub mod aws;
pub mod input;
pub mod local;
pub mod messages;
pub mod output;
pub mod page;
pub mod problem;
pub mod shell;
#[cfg(any(test, fuzzing))]
pub mod properties;
