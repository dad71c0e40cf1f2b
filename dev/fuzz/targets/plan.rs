#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| redrive_iac::properties::plan(text));
