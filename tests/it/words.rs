use std::fs;
use std::path::{Path, PathBuf};

/// What people read: the code with its texts and docstrings, and the pages.
const READ: [&str; 9] =
    ["src", "sqs/src", "s3/src", "local/src", "stack/src", "cli/src", "docs", "examples", "templates"];

pub(crate) fn texts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let kinds = ["rs", "md", "html", "js", "yaml", "txt"];
    let is_text = |file: &PathBuf| file.extension().is_some_and(|it| kinds.iter().any(|kind| it == *kind));
    folders.iter().flat_map(|folder| texts(folder)).chain(files.into_iter().filter(is_text)).collect()
}

/// On one line, so that a phrase is found wherever its line is broken.
fn unbroken(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches('/').trim_start_matches('!'));
    let lines = lines.map(|line| line.trim_end_matches('\\'));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The phrases in backticks of the last column of CONTRIBUTING.md's table of words.
fn forbidden(contributing: &str) -> Vec<&str> {
    let table = contributing.split("## Words").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let last = rows.filter_map(|row| row.trim_end_matches(" |").rsplit('|').next());
    last.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

fn says(text: &str, phrase: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + phrase.len()..].chars().next());
        !is_letter(before) && !is_letter(after)
    })
}

#[test]
fn nobody_reads_a_word_that_is_not_ours() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let contributing = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let phrases = forbidden(&contributing);
    assert!(phrases.len() > 10, "{phrases:?}");
    let pages = ["README.md", "ARCHITECTURE.md", "SECURITY.md", "template.yaml"].map(|name| root.join(name));
    let files = READ.iter().flat_map(|folder| texts(&root.join(folder))).chain(pages);
    let files = files.filter(|file| !file.to_string_lossy().contains("tests"));
    let mut found = Vec::new();
    for file in files {
        let text = unbroken(&fs::read_to_string(&file).unwrap());
        for phrase in phrases.iter().filter(|phrase| says(&text, phrase)) {
            found.push(format!("{} says {phrase:?}", file.display()));
        }
    }
    assert!(found.is_empty(), "see the words of CONTRIBUTING.md:\n{}", found.join("\n"));
}
