//! Files that were named on the command line, `-` for stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, ensure};
use redrive_iac::subject::kubernetes::is_kubernetes;
use redrive_iac::subject::terraform::is_terraform;

/// The largest template that CloudFormation accepts has 1 MB, this is some more.
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>
pub const TEMPLATE: u64 = 1_024 * 1_024;

/// The manifests of a large cluster, which nobody limits.
pub const MANIFESTS: u64 = 8 * TEMPLATE;

/// A plan of Terraform's says everything several times.
pub const PLAN: u64 = 64 * TEMPLATE;

/// What is kept in memory of messages and ids, or of a pipe that is read twice. Files of this size are sent in parts.
pub const WHOLE: u64 = 256 * TEMPLATE;

/// What came from stdin as a template: it comes once.
static STDIN: OnceLock<String> = OnceLock::new();

/// What to call a file in messages.
pub fn named(path: &Path) -> &Path {
    if is_stdin(path) { Path::new("stdin") } else { path }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The whole text, and what to call where it comes from. `what` says what was looked for there, such as `the message file`.
///
/// # Errors
/// It cannot be read, is no text, or has more than 256 MiB.
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

/// All that there is.
///
/// # Errors
/// It cannot be read, or has more than 256 MiB.
pub fn whole(source: impl Read) -> anyhow::Result<Vec<u8>> {
    let bytes = up_to(WHOLE + 1, source)?;
    ensure!(bytes.len() as u64 <= WHOLE, "more than {WHOLE} bytes; split it");
    Ok(bytes)
}

/// The text of a template, or what Terraform prints of a plan.
///
/// # Errors
/// It cannot be read, is no text, or has more than 1 MiB, manifests more than 8 MiB, Terraform's more than 64 MiB.
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

/// A file that a template leads to: none if it is no file, or larger than files of its kind are.
pub fn mentioned(path: &Path) -> Option<String> {
    if is_stdin(path) {
        return STDIN.get().cloned();
    }
    String::from_utf8(found(path, MANIFESTS)?).ok().map(without_mark)
}

/// A file that nobody named, if it is one and has no more bytes than this.
pub fn found(path: &Path, most: u64) -> Option<Vec<u8>> {
    // What is no file may wait for a writer.
    let file = std::fs::metadata(path).ok()?.is_file().then(|| open(path))?.ok()?;
    up_to(most + 1, file).ok().filter(|bytes| bytes.len() as u64 <= most)
}

/// Of a file no more than it says it has: those of `/proc` have no end, or wait for the kernel.
fn open(path: &Path) -> io::Result<io::Take<File>> {
    let file = File::open(path)?;
    let seen = file.metadata()?;
    let size = if seen.is_file() { seen.len() } else { u64::MAX };
    Ok(file.take(size))
}

/// Without the byte order mark that editors and shells of Windows begin a file with.
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
