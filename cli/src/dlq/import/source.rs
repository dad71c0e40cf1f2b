//! The lines of a file, which are gone through twice: to check all of them, and to send them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::input::named;

/// The byte order mark that editors and shells of Windows begin a file with.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Where the lines are.
#[derive(Debug)]
pub(super) struct Source {
    /// What to call it in messages.
    pub(super) name: String,
    path: PathBuf,
    /// All of it, if it can be read only once, as stdin and pipes.
    text: Option<Vec<u8>>,
}

impl Source {
    /// # Errors
    /// It cannot be read.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = named(path).display().to_string();
        let once = || {
            let mut text = Vec::new();
            if path.as_os_str() == "-" {
                stdin().read_to_end(&mut text)?;
                return Ok(Some(text));
            }
            match fs::metadata(path)?.is_file() {
                true => File::open(path).map(|_| None),
                false => fs::read(path).map(Some),
            }
        };
        let text = once().with_context(|| format!("could not read {name}"))?;
        Ok(Self { name, path: path.to_owned(), text })
    }

    /// Those that are not empty, with their numbers from 1.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn lines(&self) -> anyhow::Result<impl Iterator<Item = anyhow::Result<(usize, Vec<u8>)>>> {
        let could_not = || format!("could not read {}", self.name);
        let reader: Box<dyn BufRead> = match &self.text {
            Some(text) => Box::new(text.as_slice()),
            None => Box::new(BufReader::new(File::open(&self.path).with_context(could_not)?)),
        };
        let lines = reader.split(b'\n').enumerate();
        let lines = lines.map(move |(index, line)| {
            let mut line = line.with_context(could_not)?;
            if index == 0 && line.starts_with(MARK) {
                line.drain(..MARK.len());
            }
            Ok((index + 1, line))
        });
        let is_empty = |line: &anyhow::Result<(usize, Vec<u8>)>| {
            line.as_ref().is_ok_and(|(_, line)| line.iter().all(u8::is_ascii_whitespace))
        };
        Ok(lines.filter(move |line| !is_empty(line)))
    }
}
