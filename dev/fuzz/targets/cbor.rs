#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|call: &[u8]| redrive_local::properties::cbor(call));
