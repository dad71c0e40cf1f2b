//! Files that were named on the command line, `-` for stdin.

use std::io::Read;
use std::path::Path;

use anyhow::Context;

/// The whole text, and what to call where it comes from. `what` says what was looked for there, such as `the messages`.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn text(path: &Path, what: &str) -> anyhow::Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("could not read stdin")?;
        return Ok(("stdin".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {what} {name}"))?;
    Ok((name, text))
}
