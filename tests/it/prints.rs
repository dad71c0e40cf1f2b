//! Examples log a sender's text as fields and never print it: a line break in printed text can forge a metric.

use std::fs;
use std::path::{Path, PathBuf};

/// Macros that write raw: a line break in a message's id would begin a new line, such as one of embedded metric format.
const RAW: [&str; 4] = ["println!", "print!", "eprintln!", "eprint!"];

fn texts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let is_text = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "rs" || kind == "md");
    folders.iter().flat_map(|folder| texts(folder)).chain(files.into_iter().filter(is_text)).collect()
}

/// Other than in prose, which names a macro between backticks.
fn is_raw(line: &str) -> bool {
    if line.contains('`') {
        return false;
    }
    let macros = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '!'));
    macros.into_iter().any(|word| RAW.contains(&word))
}

#[test]
fn no_example_prints_what_a_sender_wrote() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = ["docs", "examples", "crates/postgres/examples", "src/bin"].map(|folder| root.join(folder));
    let whole = whole.iter().flat_map(|folder| texts(folder)).chain([root.join("README.md")]);
    let documented = [
        "src",
        "crates/sqs/src",
        "crates/event/src",
        "crates/engine/src",
        "crates/executor/src",
        "crates/http/src",
        "crates/observers/src",
        "crates/s3/src",
        "crates/send/src",
        "crates/local/src",
        "crates/opentelemetry/src",
        "crates/postgres/src",
    ];
    let documented: Vec<PathBuf> = documented.iter().flat_map(|folder| texts(&root.join(folder))).collect();
    let mut found = Vec::new();
    for (file, only_docs) in
        whole.map(|file| (file, false)).chain(documented.into_iter().map(|file| (file, true)))
    {
        let text = fs::read_to_string(&file).unwrap();
        let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
        let raw = text.lines().map(str::trim).filter(|line| is_raw(line) && (!only_docs || is_doc(line)));
        found.extend(raw.map(|line| format!("{}: {line}", file.display())));
    }
    assert!(found.is_empty(), "log these with tracing, see docs/metrics.md: {found:#?}");
}
