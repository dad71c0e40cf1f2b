mod bulk;
mod fifo_group;
mod handler;
mod poison_message;
mod retry;
mod worker;

use std::fs;
use std::path::Path;

#[test]
fn the_guide_shows_these_tests_and_no_others() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/testing.md")).unwrap();
    let shown = guide.split("```rust\n").skip(1).map(|block| block.split("```").next().unwrap());
    let mut shown: Vec<_> = shown.map(str::to_owned).collect();
    let files = fs::read_dir(root.join("tests/it/guide")).unwrap();
    let mut tests: Vec<_> = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    shown.sort();
    tests.sort();
    assert_eq!(shown, tests);
}
