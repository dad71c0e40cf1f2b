//! The command is not a library, so its files are compiled here.
#![no_main]
#![allow(dead_code, reason = "what the other modules of the command call")]

use libfuzzer_sys::fuzz_target;
use redrive_local::command::problem;

#[path = "../../../crates/cli/src/letters"]
mod letters {
    pub(crate) mod condition;
    pub(crate) mod letter;
}

#[path = "../../../crates/cli/src/sqs"]
mod sqs {
    mod attributes;
    pub(crate) use attributes::from_sdk;
}

fuzz_target!(|text: &[u8]| letters::condition::properties::condition(text));
