//! A folder that keeps the queues: a snapshot, and the calls since then. After a kill, the calls are repeated.

use std::borrow::Cow;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use ciborium::Value;
use ciborium::de::Error as ReadError;
use ciborium::ser::Error as WriteError;
use http::Request;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::sqs::Sqs;

/// Bytes of calls after which a new snapshot replaces them, unless the last one was larger.
const MOST_BYTES: u64 = 64 << 20;

/// The beginning of the names of files with calls.
const CALLS: &str = "calls-";

const RECEIVE: &str = "ReceiveMessage";

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
const HEADERS: [&str; 7] = [
    "content-encoding",
    "content-type",
    "host",
    "smithy-protocol",
    "x-amz-target",
    "x-amzn-query-mode",
    "x-amzn-trace-id",
];

#[derive(Debug)]
pub(crate) struct StateFolder {
    folder: PathBuf,
    /// Number of the snapshot.
    generation: u64,
    /// The calls since.
    calls: File,
    bytes: u64,
    /// Their bytes before the last call.
    bytes_before: u64,
    most_bytes: u64,
    /// False if something is missing after an error, so that only a new snapshot helps.
    is_whole: bool,
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Snapshot<'a> {
    generation: u64,
    at: Moment,
    sqs: Cow<'a, Sqs>,
}

#[derive(Serialize, Deserialize)]
struct RecordedCall {
    at: Moment,
    method: String,
    uri: String,
    headers: Vec<(String, String)>,
    body: Value,
}

/// A time on the clock of the queues, and how far that is ahead of the machine's.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Moment {
    at: SystemTime,
    ahead: Duration,
}

impl Moment {
    fn new(at: SystemTime) -> Self {
        Self { at, ahead: at.duration_since(SystemTime::now()).unwrap_or_default() }
    }

    /// Returns the present time on the clock, which continues while no process runs and never moves back.
    fn now(self) -> SystemTime {
        self.at.max(SystemTime::now() + self.ahead)
    }
}

impl StateFolder {
    /// Opens the folder, or creates it, and returns the queues, with the time on their clock. [`save`](Self::save) them before the
    /// first call.
    ///
    /// # Errors
    /// Another process has it. It cannot be read or written, or something in it is missing or damaged.
    pub(super) fn open(folder: &Path, new: Sqs) -> io::Result<(Self, Sqs, SystemTime)> {
        fs::create_dir_all(folder)?;
        let lock = File::options().create(true).append(true).open(folder.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::other("another process uses it"),
            TryLockError::Error(error) => error,
        })?;
        let calls = recorded(folder)?;
        let (generation, sqs, at) = match read(&folder.join("queues"))? {
            Some(Snapshot { generation, at, sqs }) => {
                let (sqs, at) = repeat(&calls_of(folder, generation), at, sqs.into_owned())?;
                (generation, sqs, at.now())
            }
            None if calls.is_empty() => (0, new, SystemTime::now()),
            None => return Err(damaged("the file queues is missing")),
        };
        let calls = File::options().append(true).create(true).open(calls_of(folder, generation))?;
        let (folder, bytes, most_bytes) = (folder.to_owned(), 0, MOST_BYTES);
        // Its files are not counted in `bytes`: the first call saves a new snapshot, unless that was done before.
        let opened = Self {
            folder,
            generation,
            calls,
            bytes,
            bytes_before: 0,
            most_bytes,
            is_whole: false,
            _lock: lock,
        };
        Ok((opened, sqs, at))
    }

    /// Records a call before it is done, unless it changes nothing.
    ///
    /// # Errors
    /// It cannot be written, and so must not be done.
    pub(super) fn record(
        &mut self,
        operation: &str,
        request: &Request<Bytes>,
        sqs: &Sqs,
        now: SystemTime,
    ) -> io::Result<()> {
        if READS.contains(&operation) {
            return Ok(());
        }
        if self.needs_snapshot() {
            self.save(sqs, now)?;
        }
        self.append(request, now)
    }

    /// Removes the record of a receive that has changed nothing: most receives wait, and would be recorded again and again.
    pub(super) fn forget_empty_receive(&mut self, operation: &str, sqs: &Sqs) {
        if operation == RECEIVE && !sqs.has_events() {
            self.bytes = self.bytes_before;
            // Otherwise, a new snapshot replaces the file.
            self.is_whole = self.calls.set_len(self.bytes).is_ok();
        }
    }

    fn needs_snapshot(&self) -> bool {
        !self.is_whole || self.bytes > self.most_bytes
    }

    fn append(&mut self, request: &Request<Bytes>, now: SystemTime) -> io::Result<()> {
        let mut call = Vec::new();
        ciborium::into_writer(&RecordedCall::new(request, now), &mut call).map_err(io::Error::other)?;
        let mut bytes = header(&call)?.to_vec();
        bytes.append(&mut call);
        // A call that is cut off would hide those after it.
        self.is_whole = false;
        self.calls.write_all(&bytes)?;
        self.bytes_before = self.bytes;
        (self.is_whole, self.bytes) = (true, self.bytes + bytes.len() as u64);
        Ok(())
    }

    /// Replaces the snapshot and forgets the calls before it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn save(&mut self, sqs: &Sqs, at: SystemTime) -> io::Result<()> {
        self.is_whole = false;
        let generation = self.generation + 1;
        let new = self.folder.join("queues.new");
        let size =
            write_snapshot(&new, &Snapshot { generation, at: Moment::new(at), sqs: Cow::Borrowed(sqs) });
        let size = size.inspect_err(|_| drop(fs::remove_file(&new)))?;
        let calls = calls_of(&self.folder, generation);
        File::create(&calls)?;
        let calls = File::options().append(true).open(calls)?;
        fs::rename(new, self.folder.join("queues"))?;
        (self.generation, self.calls, self.bytes, self.is_whole) = (generation, calls, 0, true);
        self.most_bytes = size.max(MOST_BYTES);
        // The snapshot has all calls before it.
        for file in recorded(&self.folder)? {
            if file != calls_of(&self.folder, generation) {
                fs::remove_file(file)?;
            }
        }
        Ok(())
    }
}

fn write_snapshot(file: &Path, snapshot: &Snapshot<'_>) -> io::Result<u64> {
    let mut file = BufWriter::new(File::create(file)?);
    ciborium::into_writer(snapshot, &mut file).map_err(|error| match error {
        WriteError::Io(error) => error,
        WriteError::Value(why) => io::Error::other(why),
    })?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// Returns the files of recorded calls.
fn recorded(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|file| file.map(|file| file.path()));
    let is_ours = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(CALLS));
        name.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    files.filter(|file| file.as_ref().map_or(true, is_ours)).collect()
}

impl RecordedCall {
    fn new(request: &Request<Bytes>, at: SystemTime) -> Self {
        let header =
            |name: &str| Some((name.to_owned(), request.headers().get(name)?.to_str().ok()?.to_owned()));
        Self {
            at: Moment::new(at),
            method: request.method().to_string(),
            uri: request.uri().to_string(),
            headers: HEADERS.into_iter().filter_map(header).collect(),
            body: Value::Bytes(request.body().to_vec()),
        }
    }

    fn request(self) -> Result<Request<Bytes>, http::Error> {
        let request = Request::builder().method(&*self.method).uri(self.uri);
        let headers = self.headers.into_iter();
        let body = self.body.into_bytes().unwrap_or_default();
        headers.fold(request, |request, (name, value)| request.header(name, value)).body(body.into())
    }
}

/// Repeats the calls after a snapshot, and returns the queues and the time of the last call.
fn repeat(path: &Path, mut at: Moment, sqs: Sqs) -> io::Result<(Sqs, Moment)> {
    let mut account = Account::with_queues(sqs);
    let mut calls = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(damaged(&format!("the file {} is missing", path.display())));
        }
        calls => BufReader::new(calls?),
    };
    while let Some(call) = next_call(&mut calls).map_err(|error| of_file(path, &error))? {
        at = call.at;
        account.sqs.advance(at.at);
        // A refused call is refused again.
        account.answer(&call.request().map_err(|error| of_file(path, &damaged(&error)))?, at.at);
        // They have been reported.
        account.take_events();
    }
    Ok((account.sqs, at))
}

/// Returns what is before a recorded call: its length, and checksums of that and of the call.
fn header(call: &[u8]) -> io::Result<[u8; 12]> {
    let length = u32::try_from(call.len()).map_err(io::Error::other)?.to_le_bytes();
    let mut header = [0; 12];
    header[..4].copy_from_slice(&length);
    header[4..8].copy_from_slice(&crc32fast::hash(&length).to_le_bytes());
    header[8..].copy_from_slice(&crc32fast::hash(call).to_le_bytes());
    Ok(header)
}

/// Reads the next call. Returns none at the end, or if a kill has cut the call off, which then was not done.
fn next_call(calls: &mut impl Read) -> io::Result<Option<RecordedCall>> {
    let mut before = Vec::new();
    if calls.take(12).read_to_end(&mut before)? < 12 {
        return Ok(None);
    }
    let (length, of_length) = (&before[..4], &before[4..8]);
    if crc32fast::hash(length).to_le_bytes() != of_length {
        return Err(damaged("a length is not what was written"));
    }
    let length = length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
    let mut call = Vec::new();
    if calls.take(length as u64).read_to_end(&mut call)? < length {
        return Ok(None);
    }
    match header(&call)? == before[..] {
        true => ciborium::from_reader(&*call).map(Some).map_err(|error| damaged(&error)),
        false => Err(damaged("a call is not what was written")),
    }
}

fn read(snapshot: &Path) -> io::Result<Option<Snapshot<'static>>> {
    let file = match File::open(snapshot) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => BufReader::new(file?),
    };
    let snapshot_read = ciborium::from_reader(file).map_err(|error| match error {
        ReadError::Io(error) => damaged(&error),
        ReadError::Semantic(_, why) => damaged(&why),
        ReadError::Syntax(at) => damaged(&format!("it is not CBOR at byte {at}")),
        ReadError::RecursionLimitExceeded => damaged("it is nested too deeply"),
    });
    snapshot_read.map(Some).map_err(|error| of_file(snapshot, &error))
}

/// Names the file of an error.
fn of_file(file: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", file.display()))
}

fn damaged(why: &(impl std::fmt::Display + ?Sized)) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("it is damaged, or another version wrote it: {why}"))
}

fn calls_of(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("{CALLS}{generation}"))
}

#[cfg(test)]
mod tests;
