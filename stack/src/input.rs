//! Files that were named on the command line, `-` for stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, ensure};

use crate::subject::terraform::is_terraform;

/// The largest template that CloudFormation accepts has 1 MB, this is some more.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>
const TEMPLATE: u64 = 1_024 * 1_024;

/// A plan of Terraform's says everything several times.
pub const PLAN: u64 = 64 * TEMPLATE;

/// The whole text, and what to call where it comes from. `what` says what was looked for there, such as `the messages`.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn text(path: &Path, what: &str) -> anyhow::Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("could not read stdin")?;
        return Ok(("stdin".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {what} {name}"))?;
    Ok((name, text))
}

/// The text of a template, or what Terraform prints of a plan.
///
/// # Errors
/// It cannot be read, is no text, or has more than 1 MiB, Terraform's more than 64 MiB.
pub fn template(path: &Path) -> anyhow::Result<String> {
    let read = || {
        let text = up_to(PLAN + 1, File::open(path)?)?;
        let size = text.len() as u64;
        ensure!(size <= PLAN, "it is larger than {PLAN} bytes, no template and no Terraform plan is");
        let text = String::from_utf8(text)?;
        let is_small = size <= TEMPLATE || is_terraform(&text);
        ensure!(is_small, "it is larger than {TEMPLATE} bytes, no template is");
        Ok(text)
    };
    read().with_context(|| format!("could not read the template {}", path.display()))
}

/// A file that a template leads to: none if it is no file, or larger than files of its kind are.
pub fn mentioned(path: &Path) -> Option<String> {
    // What is no file may have no end, or wait for a writer.
    let file = std::fs::metadata(path).ok()?.is_file().then(|| File::open(path))?.ok()?;
    let text = up_to(TEMPLATE + 1, file).ok().filter(|text| text.len() as u64 <= TEMPLATE)?;
    String::from_utf8(text).ok()
}

fn up_to(most: u64, file: File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(text)
}
