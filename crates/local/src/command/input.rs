//! Files that were named on the command line, `-` for stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, ensure};
use redrive_iac::deployment::kubernetes::is_kubernetes;
use redrive_iac::deployment::terraform::is_terraform;

/// Largest template in bytes: slightly more than CloudFormation's limit of 1 MB.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>
pub const TEMPLATE: u64 = 1_024 * 1_024;

/// Largest manifests in bytes: enough for a large cluster.
pub const MANIFESTS: u64 = 8 * TEMPLATE;

/// Largest plan of Terraform in bytes. A plan repeats everything several times.
pub const PLAN: u64 = 64 * TEMPLATE;

/// Most bytes of messages and ids, or of a pipe that is read twice, that are kept in memory. Files of this size are sent in
/// parts.
pub const WHOLE: u64 = 256 * TEMPLATE;

/// The template from stdin, which can be read only once.
static STDIN: OnceLock<String> = OnceLock::new();

/// Returns a file's name for messages.
pub fn named(path: &Path) -> &Path {
    if is_stdin(path) { Path::new("stdin") } else { path }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns the whole text with the name of its source for messages. `what` describes the expected content, such as `the
/// message file`.
///
/// # Errors
/// Returns an error if the file cannot be read, is not text, or has more than 256 MiB.
pub fn text(path: &Path, what: &str) -> anyhow::Result<(String, String)> {
    let name = named(path).display().to_string();
    let read = || match is_stdin(path) {
        true => whole(io::stdin()),
        false => whole(open(path)?),
    };
    let text = read().and_then(|bytes| Ok(String::from_utf8(bytes)?));
    let text = text.with_context(|| match is_stdin(path) {
        true => "could not read stdin".to_owned(),
        false => format!("could not read {what} {name}"),
    })?;
    Ok((name, without_mark(text)))
}

/// Reads everything.
///
/// # Errors
/// Returns an error if the source cannot be read or has more than 256 MiB.
pub fn whole(source: impl Read) -> anyhow::Result<Vec<u8>> {
    let bytes = up_to(WHOLE + 1, source)?;
    ensure!(bytes.len() as u64 <= WHOLE, "more than {WHOLE} bytes; split it");
    Ok(bytes)
}

/// Reads a template, or the plan that Terraform prints.
///
/// # Errors
/// Returns an error if the file cannot be read, is not text, or is larger than 1 MiB, or 8 MiB for manifests and 64 MiB for
/// Terraform's plans.
pub fn template(path: &Path) -> anyhow::Result<String> {
    let read = || {
        let text = match is_stdin(path) {
            true => up_to(PLAN + 1, io::stdin())?,
            false => up_to(PLAN + 1, open(path)?)?,
        };
        let size = text.len() as u64;
        ensure!(size <= PLAN, "more than {PLAN} bytes, the limit for a Terraform plan");
        let text = without_mark(String::from_utf8(text)?);
        if size > TEMPLATE && !is_terraform(&text) {
            let is_kubernetes = is_kubernetes(&text);
            ensure!(is_kubernetes, "more than {TEMPLATE} bytes, the limit for a template");
            ensure!(size <= MANIFESTS, "more than {MANIFESTS} bytes; split the manifests into several files");
        }
        Ok(text)
    };
    if let Some(text) = STDIN.get().filter(|_| is_stdin(path)) {
        return Ok(text.clone());
    }
    let text = read().with_context(|| format!("could not read the template {}", named(path).display()))?;
    if is_stdin(path) {
        STDIN.get_or_init(|| text.clone());
    }
    Ok(text)
}

/// Reads a file that a template names. Returns None if it is not a file, or is larger than files of its kind are.
pub fn mentioned(path: &Path) -> Option<String> {
    if is_stdin(path) {
        return STDIN.get().cloned();
    }
    String::from_utf8(found(path, MANIFESTS)?).ok().map(without_mark)
}

/// Reads a file that the user did not name, if it is a file of at most `most` bytes.
pub fn found(path: &Path, most: u64) -> Option<Vec<u8>> {
    // Opening a pipe could wait for a writer.
    let file = std::fs::metadata(path).ok()?.is_file().then(|| open(path))?.ok()?;
    up_to(most + 1, file).ok().filter(|bytes| bytes.len() as u64 <= most)
}

/// Opens a file, limited to the size that it reports, because some files of `/proc` are endless or wait for the kernel.
fn open(path: &Path) -> io::Result<io::Take<File>> {
    let file = File::open(path)?;
    let seen = file.metadata()?;
    let size = if seen.is_file() { seen.len() } else { u64::MAX };
    Ok(file.take(size))
}

/// Removes the byte order mark with which Windows editors and shells begin a file.
fn without_mark(mut text: String) -> String {
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    text
}

fn up_to(most: u64, source: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    source.take(most).read_to_end(&mut text)?;
    Ok(text)
}
