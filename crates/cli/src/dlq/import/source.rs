//! Reads the lines of a file twice: to check all of them, and to send them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::input::{named, whole};

/// Byte order mark with which editors and shells of Windows begin a file.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Longest line in bytes. An export writes shorter ones: JSON may make a message of 1 MiB six times as long.
const LONGEST: u64 = 16 * 1_024 * 1_024;

/// A file, or text in memory.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name in messages.
    pub(super) name: String,
    path: PathBuf,
    /// The whole text, if it can be read only once, as from stdin and pipes.
    text: Option<Vec<u8>>,
}

impl Source {
    /// # Errors
    /// The file cannot be read, or must be kept in memory and is too large for that.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = named(path).display().to_string();
        let once = || {
            if path.as_os_str() == "-" {
                return whole(stdin()).map(Some);
            }
            let (is_file, file) = (fs::metadata(path)?.is_file(), File::open(path)?);
            if is_file { Ok(None) } else { whole(file).map(Some) }
        };
        let text = once().with_context(|| format!("could not read {name}"))?;
        Ok(Self { name, path: path.to_owned(), text })
    }

    /// Returns the lines that are not empty, with their numbers from 1.
    ///
    /// # Errors
    /// The file cannot be opened. For a line: it cannot be read, or is longer than any letter.
    pub(super) fn lines(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<(usize, Vec<u8>)>>> {
        let name = &self.name;
        let could_not = move || format!("could not read {name}");
        let mut reader: Box<dyn BufRead> = match &self.text {
            Some(text) => Box::new(text.as_slice()),
            None => Box::new(BufReader::new(File::open(&self.path).with_context(could_not)?)),
        };
        let mut number = 0;
        let mut next = move || {
            number += 1;
            let mut line = Vec::new();
            let read = reader.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line);
            if read.with_context(could_not)? == 0 {
                return Ok(None);
            }
            if line.len() as u64 > LONGEST {
                bail!("{name}: line {number}: more than {LONGEST} bytes");
            }
            line.pop_if(|last| *last == b'\n');
            if number == 1 && line.starts_with(MARK) {
                line.drain(..MARK.len());
            }
            Ok(Some((number, line)))
        };
        let mut is_over = false;
        let lines = std::iter::from_fn(move || {
            let line = if is_over { None } else { next().transpose() };
            is_over = !matches!(line, Some(Ok(_)));
            line
        });
        let is_empty = |line: &anyhow::Result<(usize, Vec<u8>)>| {
            line.as_ref().is_ok_and(|(_, line)| line.iter().all(u8::is_ascii_whitespace))
        };
        Ok(lines.filter(move |line| !is_empty(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letters.jsonl");
        fs::write(&path, "{}\n").unwrap();
        // A sparse file takes no room on the disk.
        fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(1 << 36)).unwrap();
        let lines: Vec<_> = Source::open(&path).unwrap().lines().unwrap().collect();
        let [Ok((1, first)), Err(error)] = &lines[..] else { panic!("{} lines", lines.len()) };
        assert_eq!(first, b"{}");
        assert!(error.to_string().ends_with("line 2: more than 16777216 bytes"), "{error}");
    }
}
