//! The files that the paths on the command line name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::input;
use anyhow::{Error, anyhow};
use redrive_iac::deployment::template::not_yet;
use redrive_iac::deployment::{kubernetes, terraform};
use redrive_iac::{Node, parse};
use walkdir::{DirEntry, WalkDir};

/// Folders that other tools write or install, without templates of the user's own.
const FOREIGN: [&str; 6] = [".git", ".venv", ".aws-sam", ".terraform", "node_modules", "target"];
const KINDS: [&str; 4] = ["yaml", "yml", "json", "template"];
/// Types in a template that make it worth checking.
const SIGNS: [&str; 4] = ["AWS::SQS::", "AWS::Lambda::", "AWS::Serverless::", "AWS::ECS::TaskDefinition"];

/// Files in the order of the paths, without duplicates, and errors of those that could not be read.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) found: Vec<PathBuf>,
    pub(super) unread: Vec<Error>,
    /// Hints on files in folders that another tool must convert first, one of each kind.
    pub(super) not_yet: Vec<String>,
    seen: BTreeSet<PathBuf>,
}

impl Files {
    /// Finds the files and, in folders at any depth, all that may be templates, plans or manifests, except `left_out`.
    pub(super) fn of(paths: &[PathBuf], left_out: &[PathBuf]) -> Self {
        let mut files = Self::default();
        for path in paths {
            if path.is_dir() {
                files.add_folder(path, left_out);
            } else {
                files.add(path);
            }
        }
        files
    }

    fn add(&mut self, path: &Path) {
        let file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.seen.insert(file) {
            self.found.push(path.strip_prefix(".").unwrap_or(path).to_owned());
        }
    }

    fn add_folder(&mut self, folder: &Path, left_out: &[PathBuf]) {
        let left_out: Vec<_> = left_out.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let is_left_out = |entry: &DirEntry| {
            entry.depth() > 0 && entry.path().canonicalize().is_ok_and(|path| left_out.contains(&path))
        };
        let before = self.seen.len() + self.unread.len();
        let walk = WalkDir::new(folder).sort_by_file_name().into_iter();
        for entry in walk.filter_entry(|entry| !is_foreign(entry) && !is_left_out(entry)) {
            match entry {
                Ok(entry) if entry.path().is_file() => match may_be_meant(entry.path()) {
                    true => self.add(entry.path()),
                    false => self.add_hint(entry.path()),
                },
                Ok(_) => {}
                Err(error) => self.unread.push(
                    Error::new(error).context(format!("could not read the folder {}", folder.display())),
                ),
            }
        }
        if self.seen.len() + self.unread.len() == before {
            self.unread.push(anyhow!("could not read the folder {}: no template in it", folder.display()));
        }
    }

    fn add_hint(&mut self, path: &Path) {
        let Some(text) = input::mentioned(path) else { return };
        // A file without a worker counts only by its name.
        let what = match text.contains("REDRIVE_QUEUE_URL") {
            true => not_yet(path, &text),
            false => not_yet(path, "").filter(|_| text.to_ascii_lowercase().contains("sqs")),
        };
        let Some(what) = what else { return };
        if !self.not_yet.iter().any(|hint| hint.ends_with(what)) {
            let path = path.strip_prefix(".").unwrap_or(path);
            self.not_yet.push(format!("{}: {what}", path.display()));
        }
    }
}

fn is_foreign(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_type().is_dir() && FOREIGN.iter().any(|name| entry.file_name() == *name)
}

/// Returns true for a template, a plan or a manifest, and for a file that would be one if it could be read.
fn may_be_meant(path: &Path) -> bool {
    let kind = path.extension().and_then(|kind| kind.to_str()).map(str::to_ascii_lowercase);
    kind.is_some_and(|kind| KINDS.contains(&kind.as_str()))
        && input::found(path, input::PLAN)
            .is_some_and(|bytes| is_meant(path, &String::from_utf8_lossy(&bytes)))
}

fn is_meant(path: &Path, text: &str) -> bool {
    let of_terraform = ["aws_sqs_", "aws_lambda_", "awscc_sqs_", "awscc_lambda_", "REDRIVE_QUEUE_URL"];
    if of_terraform.iter().any(|sign| text.contains(sign)) && terraform::is_shown(text) {
        return true;
    }
    if text.contains("REDRIVE_QUEUE_URL") && kubernetes::is_kubernetes(text) {
        return not_yet(path, text).is_none();
    }
    if !SIGNS.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    // The file is too large and will be refused.
    if text.len() as u64 > input::TEMPLATE {
        return text.lines().any(begins_resources);
    }
    // Source files of templates name such resources too, but nested deeper.
    let has_resources = |document: &Node| document.get("Resources").is_some();
    parse(text).map_or_else(|_| text.lines().any(begins_resources), |document| has_resources(&document))
}

fn begins_resources(line: &str) -> bool {
    let rest = line.trim_start_matches(['"', '\'']).strip_prefix("Resources");
    rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
}
