//! Compares the public interface of each published library with its listing, so that a change of it is seen in review.
//! Usage: interface FOLDER [--update], where FOLDER has the JSON of rustdoc.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use public_api::{Builder, PublicItem};
use rustdoc_types::FORMAT_VERSION;
use serde::Deserialize;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let (folder, is_update) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder] => (Path::new(folder), false),
        [folder, "--update"] => (Path::new(folder), true),
        _ => return Err("usage: interface FOLDER [--update]".into()),
    };
    let listings = listings()?;
    let mut changed = 0;
    for listing in &listings {
        let name = listing.file_stem().unwrap_or_default().to_string_lossy();
        let json = folder.join(name.replace('-', "_")).with_extension("json");
        if let Some(unreadable) = unreadable(&json)? {
            println!("interface: not compared: {}", unreadable.reason);
            let may_pass = !unreadable.is_pinned && !is_update;
            return Ok(if may_pass { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let (before, now) = (fs::read_to_string(listing)?, lines(&json)?);
        if before != now {
            changed += 1;
            print!("{}", difference(&name, &before, &now));
        }
        if is_update {
            fs::write(listing, now)?;
        }
    }
    let count = listings.len();
    match (changed, is_update) {
        (0, _) => println!("interface: {count} libraries are as listed"),
        (_, true) => println!("interface: {changed} of {count} listings changed"),
        (_, false) => {
            println!(
                "interface: {changed} of {count} libraries differ; if that is meant: make interface UPDATE=1"
            );
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn listings() -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(env!("CARGO_MANIFEST_DIR"))?.collect::<std::io::Result<Vec<_>>>()?;
    let mut files: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "txt"));
    files.sort();
    Ok(files)
}

struct Unreadable {
    reason: String,
    /// By the Rust that CI compiles with. What is installed elsewhere may be newer than what reads its JSON.
    is_pinned: bool,
}

fn unreadable(json: &Path) -> Result<Option<Unreadable>> {
    #[derive(Deserialize)]
    struct Document {
        format_version: u32,
    }
    let text =
        fs::read(json).map_err(|error| format!("{}: {error}; try: cargo clean --doc", json.display()))?;
    let format = serde_json::from_slice::<Document>(&text)?.format_version;
    if format == FORMAT_VERSION {
        return Ok(None);
    }
    let rust = String::from_utf8(Command::new("rustc").arg("--version").output()?.stdout)?;
    let version = rust.split(' ').nth(1).unwrap_or_default();
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/rust-toolchain.toml");
    Ok(Some(Unreadable {
        reason: format!("Rust {version} writes format {format}, public-api reads format {FORMAT_VERSION}"),
        is_pinned: fs::read_to_string(pinned)?.contains(&format!("\"{version}\"")),
    }))
}

/// A line for each public item. What follows from others is left out: the functions of a trait's implementation, and that a
/// type can be sent to and shared between threads; only those that cannot, or only sometimes, are listed.
fn lines(json: &Path) -> Result<String> {
    let api = Builder::from_rustdoc_json(json).omit_blanket_impls(true).build()?;
    let of_traits: HashSet<_> =
        api.items().filter(|item| implemented(&item.to_string()).is_some()).map(PublicItem::id).collect();
    let follows = |item: &PublicItem, line: &str| {
        !line.starts_with("pub type") && item.parent_id().is_some_and(|parent| of_traits.contains(&parent))
    };
    let lines = api.items().map(|item| (item, item.to_string()));
    let lines = lines.filter(|(item, line)| !follows(item, line) && !is_automatic(line));
    let mut seen = HashSet::new();
    Ok(lines.map(|(_, line)| line + "\n").filter(|line| seen.insert(line.clone())).collect())
}

/// The trait of an implementation, with its parameters.
fn implemented(line: &str) -> Option<&str> {
    line.strip_prefix("impl")?.split_once(" for ").map(|(name, _)| name)
}

fn is_automatic(line: &str) -> bool {
    let name = implemented(line).unwrap_or_default().rsplit(' ').next().unwrap_or_default();
    match name.trim_start_matches('!').strip_prefix("core::marker::") {
        Some("Copy") => false,
        Some("Send" | "Sync") => !name.starts_with('!') && !line.contains(" where "),
        is_marker => is_marker.is_some() || name.contains("core::panic::unwind_safe::"),
    }
}

fn difference(name: &str, before: &str, now: &str) -> String {
    let without = |text: &str, other: &str, sign: char| -> String {
        let other: HashSet<_> = other.lines().collect();
        text.lines().filter(|line| !other.contains(line)).map(|line| format!("  {sign} {line}\n")).collect()
    };
    format!("{name}\n{}{}", without(before, now, '-'), without(now, before, '+'))
}
