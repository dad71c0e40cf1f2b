//! The inputs that fuzzers begin with, and those that once failed, for the tests of each crate.

use std::fs;
use std::path::Path;

/// Checks a property on all inputs of a fuzzer, and on the files of other folders that it can read.
pub(crate) fn check(fuzzer: &str, others: &[&str], property: impl Fn(&[u8])) {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = above.find(|above| above.join("dev/fuzz/corpus").is_dir()).expect("it is there");
    let corpus = format!("dev/fuzz/corpus/{fuzzer}");
    for folder in [corpus.as_str()].iter().chain(others) {
        let entries = fs::read_dir(root.join(folder)).expect("there is such a folder");
        let paths = entries.map(|entry| entry.expect("it can be listed").path());
        let inputs: Vec<_> = paths.filter(|path| path.is_file()).collect();
        assert!(!inputs.is_empty(), "{folder} has no inputs");
        for path in inputs {
            // The test shows the last path before a panic.
            println!("{}", path.display());
            property(&fs::read(&path).expect("it can be read"));
        }
    }
}
