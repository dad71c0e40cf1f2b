use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the lock file names for this machine, with what compiles it.
fn packages() -> Vec<Value> {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let host = String::from_utf8(rustc.stdout).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let arguments = ["metadata", "--locked", "--offline", "--format-version=1", "--filter-platform", host];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

fn version(text: &str) -> Vec<u32> {
    let mut numbers: Vec<_> = text.split('.').map(|number| number.parse().unwrap()).collect();
    numbers.resize(3, 0);
    numbers
}

#[test]
fn the_rust_version_is_the_one_that_the_aws_sdk_needs_and_no_dependency_needs_a_newer_one() {
    let packages = packages();
    let needed: Vec<_> = packages
        .iter()
        .filter_map(|package| Some((package["name"].as_str()?, package["rust_version"].as_str()?)))
        .collect();
    let (_, ours) = needed.iter().find(|(name, _)| *name == "redrive").unwrap();
    let of_the_sdk = needed.iter().filter(|(name, _)| name.starts_with("aws-sdk-"));
    assert_eq!(of_the_sdk.map(|(_, rust)| version(rust)).max(), Some(version(ours)));
    let newer: Vec<_> = needed.iter().filter(|(_, rust)| version(rust) > version(ours)).collect();
    assert!(newer.is_empty(), "{ours} cannot compile {newer:?}");
}

#[test]
fn every_page_that_names_a_rust_version_names_the_one_of_the_manifest() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let ours = manifest.split("\nrust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    let mut named = 0;
    for folder in ["", "docs", "src", "templates/consumer"] {
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
