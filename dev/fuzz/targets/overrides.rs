#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| redrive::properties::overrides(text, Instant::now()));
