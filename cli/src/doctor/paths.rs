//! Which files are meant by the paths on the command line.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use walkdir::{DirEntry, WalkDir};

use crate::input;
use redrive_stack::subject::terraform;

/// What other tools write or install, in which no template is anybody's own.
const FOREIGN: [&str; 6] = [".git", ".venv", ".aws-sam", ".terraform", "node_modules", "target"];
const KINDS: [&str; 4] = ["yaml", "yml", "json", "template"];
/// What a template names that is worth a look.
const SIGNS: [&str; 3] = ["AWS::SQS::", "AWS::Lambda::", "AWS::Serverless::"];

/// A file as it is; of a folder, and of those in it, all files that may be templates or plans, in order.
///
/// # Errors
/// There is no such file or folder; a folder holds no template.
pub(super) fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let plain = |path: &Path| path.strip_prefix(".").unwrap_or(path).to_owned();
    if !path.is_dir() {
        return Ok(vec![plain(path)]);
    }
    let read = || {
        let walk = WalkDir::new(path).sort_by_file_name();
        let mut found = Vec::new();
        for entry in walk.into_iter().filter_entry(|entry| entry.depth() == 0 || !is_foreign(entry)) {
            let entry = entry?;
            if entry.file_type().is_file() && may_be_meant(entry.path()) {
                found.push(plain(entry.path()));
            }
        }
        ensure!(!found.is_empty(), "no template in it");
        Ok(found)
    };
    read().with_context(|| format!("could not read the folder {}", path.display()))
}

fn is_foreign(entry: &DirEntry) -> bool {
    entry.file_type().is_dir() && FOREIGN.iter().any(|name| entry.file_name() == *name)
}

fn may_be_meant(path: &Path) -> bool {
    let kind = path.extension().and_then(|kind| kind.to_str());
    kind.is_some_and(|kind| KINDS.contains(&kind))
        && input::mentioned(path).is_some_and(|text| is_template(&text) || is_plan(&text))
}

fn is_plan(text: &str) -> bool {
    (text.contains("aws_sqs_") || text.contains("aws_lambda_")) && terraform::is_shown(text)
}

/// Other files name such resources too, such as those that templates are made from: there they stand deeper.
fn is_template(text: &str) -> bool {
    let has_resources =
        text.contains("\"Resources\"") || text.lines().any(|line| line.starts_with("Resources:"));
    has_resources && SIGNS.iter().any(|sign| text.contains(sign))
}
