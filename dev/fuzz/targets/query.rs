#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|form: &[u8]| redrive_local::properties::query(form));
