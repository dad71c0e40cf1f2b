//! `redrive local`, and the parts that other verbs of the command `redrive` share with it: arguments, files, output, and the
//! connection to AWS.
//!
//! This module serves only the command. Its interface can change at any time.

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
