//! The history of a run: each worker writes what its handlers do to a file that outlives it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// One step of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step {
    /// Milliseconds since the epoch.
    pub(super) at: u64,
    /// The message id.
    pub(super) id: String,
    /// The receive count.
    pub(super) attempt: u32,
    #[serde(flatten)]
    pub(super) what: StepKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(super) enum StepKind {
    /// The handler was called.
    Began { body: String, attribute: Option<String>, group: Option<String> },
    /// The handler returns.
    Ended { succeeds: bool },
    /// SQS has confirmed the outcome.
    Settled { outcome: String },
}

/// The file of one worker.
#[derive(Debug)]
pub(super) struct History(File);

impl History {
    pub(super) fn append(path: &Path) -> io::Result<Self> {
        OpenOptions::new().create(true).append(true).open(path).map(Self)
    }

    /// Writes a step, which a kill of the process cannot undo.
    pub(super) fn write(&self, id: &str, attempt: u32, what: StepKind) -> io::Result<()> {
        let step = Step { at: now(), id: id.to_owned(), attempt, what };
        let mut line = serde_json::to_vec(&step)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }
}

/// Reads a worker's steps from a place on, and returns where they end. A kill may have cut the last one.
pub(super) fn read(path: &Path, from: u64) -> io::Result<(Vec<Step>, u64)> {
    let mut file = match File::open(path) {
        // The worker has not begun.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), from)),
        file => file?,
    };
    file.seek(SeekFrom::Start(from))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let steps = whole.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from));
    Ok((steps.collect::<io::Result<_>>()?, from + whole.len() as u64))
}

pub(super) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
