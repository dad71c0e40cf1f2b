use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_page_that_names_a_rust_version_names_the_one_of_the_manifest() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let ours = manifest.split("\nrust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    let mut named = 0;
    for folder in ["", ".github", "docs", "src", "examples/project"] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let is_page = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "md" || kind == "toml");
        for file in files.filter(is_page) {
            let text = fs::read_to_string(&file).unwrap();
            for words in ["Rust 1.", "rust-version = \"1."] {
                for (at, _) in text.match_indices(words) {
                    let rest = &text[at + words.len() - "1.".len()..];
                    let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
                    assert_eq!(rest[..end].trim_end_matches('.'), ours, "{}", file.display());
                    named += 1;
                }
            }
        }
    }
    assert!(named > 2, "{named}");
}
