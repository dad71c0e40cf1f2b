//! A consumer with everything around it, read from a file, a stack or a function.

pub(crate) mod live;
mod target;

pub(crate) use redrive_template::subject::*;
pub(crate) use target::Target;
