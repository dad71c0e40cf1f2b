//! A folder that keeps the queues: a snapshot, and the calls since then. After a kill, the calls are repeated.

use std::borrow::Cow;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use ciborium::de::Error as ReadError;
use http::Request;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::sqs::Sqs;

/// Bytes of calls after which a new snapshot replaces them, unless the last one was larger.
const MOST_BYTES: u64 = 64 << 20;

/// The operations that change no queue.
const READS: [&str; 6] = [
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "ListMessageMoveTasks",
    "ListQueueTags",
    "ListQueues",
];

/// The headers that decide what a call does.
const HEADERS: [&str; 5] = ["content-type", "host", "x-amz-target", "x-amzn-query-mode", "authorization"];

#[derive(Debug)]
pub(crate) struct StateFolder {
    folder: PathBuf,
    /// Number of the snapshot.
    generation: u64,
    /// The calls since.
    calls: File,
    bytes: u64,
    most_bytes: u64,
    /// False if something is missing after an error, so that only a new snapshot helps.
    is_whole: bool,
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Snapshot<'a> {
    generation: u64,
    at: SystemTime,
    sqs: Cow<'a, Sqs>,
}

#[derive(Serialize, Deserialize)]
struct RecordedCall {
    at: SystemTime,
    method: String,
    uri: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl StateFolder {
    /// Opens the folder, or creates it, and returns the queues with the time of the last call. [`save`](Self::save) them before
    /// the first call.
    ///
    /// # Errors
    /// Another process has it. It cannot be read or written, or does not contain queues.
    pub(super) fn open(folder: &Path, new: Sqs, now: SystemTime) -> io::Result<(Self, Sqs, SystemTime)> {
        fs::create_dir_all(folder)?;
        let lock = File::create(folder.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::other("another process uses it"),
            TryLockError::Error(error) => error,
        })?;
        let (generation, sqs, at) = match read(&folder.join("queues"))? {
            Some(Snapshot { generation, at, sqs }) => repeat(folder, generation, at, sqs.into_owned())?,
            None => (0, new, now),
        };
        let calls = File::options().append(true).create(true).open(calls_of(folder, generation))?;
        let (folder, bytes, most_bytes) = (folder.to_owned(), 0, MOST_BYTES);
        let opened = Self { folder, generation, calls, bytes, most_bytes, is_whole: true, _lock: lock };
        Ok((opened, sqs, at.max(now)))
    }

    /// Records a call that was done, before it is answered.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn record(
        &mut self,
        operation: &str,
        request: &Request<Bytes>,
        sqs: &Sqs,
        now: SystemTime,
    ) -> io::Result<()> {
        if !self.is_whole {
            return self.save(sqs, now);
        }
        if READS.contains(&operation) || operation == "ReceiveMessage" && !sqs.has_events() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        ciborium::into_writer(&RecordedCall::new(request, now), &mut bytes).map_err(io::Error::other)?;
        // A call that is cut off would hide those after it.
        self.is_whole = false;
        self.calls.write_all(&bytes)?;
        self.is_whole = true;
        self.bytes += bytes.len() as u64;
        if self.bytes > self.most_bytes { self.save(sqs, now) } else { Ok(()) }
    }

    /// Replaces the snapshot and forgets the calls before it.
    pub(super) fn save(&mut self, sqs: &Sqs, at: SystemTime) -> io::Result<()> {
        self.is_whole = false;
        let generation = self.generation + 1;
        let calls = File::create(calls_of(&self.folder, generation))?;
        let new = self.folder.join("queues.new");
        let mut file = BufWriter::new(File::create(&new)?);
        let snapshot = Snapshot { generation, at, sqs: Cow::Borrowed(sqs) };
        ciborium::into_writer(&snapshot, &mut file).map_err(io::Error::other)?;
        let file = file.into_inner()?;
        file.sync_all()?;
        let size = file.metadata()?.len();
        fs::rename(new, self.folder.join("queues"))?;
        // The snapshot has all of them.
        let _ = fs::remove_file(calls_of(&self.folder, self.generation));
        (self.generation, self.calls, self.bytes, self.is_whole) = (generation, calls, 0, true);
        self.most_bytes = size.max(MOST_BYTES);
        Ok(())
    }
}

impl RecordedCall {
    fn new(request: &Request<Bytes>, at: SystemTime) -> Self {
        let header =
            |name: &str| Some((name.to_owned(), request.headers().get(name)?.to_str().ok()?.to_owned()));
        Self {
            at,
            method: request.method().to_string(),
            uri: request.uri().to_string(),
            headers: HEADERS.into_iter().filter_map(header).collect(),
            // SQS accepts only text.
            body: String::from_utf8_lossy(request.body()).into_owned(),
        }
    }

    fn request(self) -> Result<Request<Bytes>, http::Error> {
        let request = Request::builder().method(&*self.method).uri(self.uri);
        let headers = self.headers.into_iter();
        headers.fold(request, |request, (name, value)| request.header(name, value)).body(self.body.into())
    }
}

/// Repeats the calls after a snapshot, and returns the queues and the time of the last call.
fn repeat(
    folder: &Path,
    generation: u64,
    mut at: SystemTime,
    sqs: Sqs,
) -> io::Result<(u64, Sqs, SystemTime)> {
    let mut account = Account::with_queues(sqs);
    let mut calls = match File::open(calls_of(folder, generation)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((generation, account.sqs, at)),
        calls => BufReader::new(calls?),
    };
    loop {
        let call: RecordedCall = match ciborium::from_reader(&mut calls) {
            Ok(call) => call,
            // The end, or a call that a kill cut off and nobody got an answer to.
            Err(ReadError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(invalid(&error)),
        };
        at = call.at;
        account.answer(&call.request().map_err(|error| invalid(&error))?, at);
        // They have been reported.
        account.take_events();
    }
    Ok((generation, account.sqs, at))
}

fn read(snapshot: &Path) -> io::Result<Option<Snapshot<'static>>> {
    match File::open(snapshot) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => ciborium::from_reader(BufReader::new(file?)).map_err(|error| invalid(&error)).map(Some),
    }
}

fn invalid(why: &impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("it is damaged, or another version wrote it: {why}"))
}

fn calls_of(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("calls-{generation}"))
}

#[cfg(test)]
mod tests;
