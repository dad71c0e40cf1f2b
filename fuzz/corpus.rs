//! The inputs that fuzzers found worth keeping, for the tests of each crate.

use std::fs;
use std::path::Path;

/// Tries a property on all inputs of a fuzzer.
pub(crate) fn check(fuzzer: &str, property: impl Fn(&[u8])) {
    let mut corpora =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|above| above.join("fuzz/corpus"));
    let corpus = corpora.find(|corpus| corpus.is_dir()).expect("it is there").join(fuzzer);
    let inputs = fs::read_dir(corpus).expect("it is the name of a fuzzer");
    let mut tried = 0;
    for input in inputs {
        let path = input.expect("it can be listed").path();
        // Shown if it is the last one before a panic.
        println!("{}", path.display());
        property(&fs::read(&path).expect("it can be read"));
        tried += 1;
    }
    assert!(tried > 0, "{fuzzer} has no inputs");
}
