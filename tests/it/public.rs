use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn read(file: impl AsRef<Path>) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The code of each file that says something in public, without comments, attributes and tests. What is `pub` can be
/// reached from outside: rustc's `unreachable_pub` sees to it.
fn files() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files: Vec<_> =
        ["note", "origin", "attribute"].map(|name| format!("sqs/src/{name}.rs").into()).into();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_hidden = ["bin", "steps.rs", "properties.rs"].iter().any(|name| path.ends_with(name));
            match path.is_dir() {
                _ if is_hidden || path.to_string_lossy().ends_with("tests.rs") => {}
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    let code = |text: String| {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        code.lines().filter(is_code).map(|line| format!("{line}\n")).collect()
    };
    files
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "rs"))
        .map(read)
        .map(code)
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// What `use` brings in from other crates: its path, by the name that it has here.
fn imports(code: &str, crates: &[String]) -> BTreeMap<String, String> {
    fn add(tree: &str, path: &str, found: &mut BTreeMap<String, String>) {
        let mut depth = 0;
        let parts = tree.split(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        // A module that is imported with its items is no type.
        for part in parts.map(str::trim).filter(|part| !part.is_empty() && *part != "self") {
            if let Some((head, rest)) = part.split_once('{') {
                add(rest.trim_end_matches('}'), &format!("{path}{head}"), found);
            } else {
                let (name, local) = part.split_once(" as ").unwrap_or((part, part));
                let local = local.rsplit("::").next().unwrap_or(local).to_owned();
                found.insert(local, format!("{path}{name}"));
            }
        }
    }
    let mut found = BTreeMap::new();
    for tree in code.split("\nuse ").skip(1).map(|text| text.split(';').next().unwrap().trim()) {
        if crates.iter().any(|name| words(tree).next() == Some(name)) {
            add(tree, "", &mut found);
        }
    }
    found
}

/// The public declarations of a file up to their bodies, public traits as a whole, and the implementations of and for
/// public types, with their associated types.
fn signatures(code: &str, ours: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let begins = |word: &'static str| code.match_indices(word).map(|(at, _)| &code[at..]);
    for text in begins("pub ").filter(|text| !text.starts_with("pub use") && !text.starts_with("pub mod")) {
        let is_field = words(text).nth(1).is_some_and(|name| text[4 + name.len()..].starts_with(": "));
        let end = match text.starts_with("pub trait") {
            true => text.find("\n}"),
            false if is_field => text.find('\n'),
            false => text.find(['{', ';']),
        };
        found.push(text[..end.unwrap_or(text.len())].to_owned());
    }
    for text in begins("\nimpl") {
        let header = text.split('{').next().unwrap();
        let bounds = header.find("\nwhere").unwrap_or(header.len());
        if words(&header[..bounds]).any(|word| ours.contains(word)) {
            found.push(header.to_owned());
            let body = text.split("\n}").next().unwrap();
            found.extend(body.lines().filter(|line| line.trim().starts_with("type ")).map(str::to_owned));
        }
    }
    found
}

/// The types and traits of other crates in the public interface, by their paths.
fn foreign() -> BTreeSet<String> {
    let manifest = read("Cargo.toml");
    let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let name = |line: &str| words(&line.replace('-', "_")).next().unwrap().to_owned();
    let crates: Vec<_> = dependencies
        .lines()
        .filter(|line| line.contains(" = ") || line.contains(".workspace"))
        .map(name)
        .collect();
    let crates: Vec<_> = crates.into_iter().filter(|name| name != "redrive_sqs").collect();
    let files = files();
    let declared = files.iter().flat_map(|code| code.lines()).filter_map(|line| {
        let rest = line.strip_prefix("pub ")?;
        let kind = words(rest).next()?;
        ["struct", "enum", "trait"].contains(&kind).then(|| words(rest).nth(1).unwrap().to_owned())
    });
    let ours: BTreeSet<_> = declared.collect();
    let mut found = BTreeSet::new();
    for code in &files {
        let imports = imports(code, &crates);
        for signature in signatures(code, &ours) {
            found.extend(words(&signature).filter_map(|word| imports.get(word).cloned()));
            for name in &crates {
                for (at, _) in signature.match_indices(&format!("{name}::")) {
                    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
                    let path = signature[at..].split(|c| !is_path(c)).next().unwrap();
                    found.insert(path.to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn contributing_lists_every_foreign_type_of_the_public_interface_and_reexports_has_its_crate() {
    let contributing = read("CONTRIBUTING.md");
    let table = contributing
        .split("\n## Types of other crates\n")
        .nth(1)
        .expect("a section")
        .split("\n## ")
        .next()
        .unwrap();
    let column = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let listed: BTreeSet<_> =
        column.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect();
    let found = foreign();
    assert_eq!(found, listed, "what is in the code, and what CONTRIBUTING.md lists");

    let crates: BTreeSet<_> = found.iter().map(|path| words(path).next().unwrap()).collect();
    let reexports = read("src/reexports.rs");
    let reexported: BTreeSet<_> =
        words(reexports.split("\npub use {").nth(1).unwrap().split('}').next().unwrap()).collect();
    assert_eq!(crates, reexported);
}

/// An enum of which a user may match every variant could never get another one.
#[test]
fn every_public_enum_can_get_another_variant() {
    for code in files() {
        let lines: Vec<_> = code.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub enum")) {
            let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
            assert!(above.into_iter().any(|line| *line == "#[non_exhaustive]"), "{line}");
        }
    }
}
