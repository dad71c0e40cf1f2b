#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| redrive::properties::event(payload, Instant::now()));
