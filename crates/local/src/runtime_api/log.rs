//! The log stream of one process: the process's lines, and Lambda's lines about it.
//! <https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-view.html>

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_seconds;
use uuid::Uuid;

use super::Ended;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogLine {
    /// The function wrote the line to stdout or stderr.
    Own(String),
    /// Lambda wrote the line about an invocation.
    Platform(String),
}

/// A callback with the name of a stream, and a line.
type Write = dyn Fn(&str, LogLine) + Send + Sync;

/// The destination of a process's lines.
#[derive(Clone)]
pub(crate) struct Log {
    stream: Arc<str>,
    write: Arc<Write>,
}

impl Log {
    /// Starts a log. `write` gets the stream's name with each line.
    pub(crate) fn new(now: SystemTime, write: impl Fn(&str, LogLine) + Send + Sync + 'static) -> Self {
        let date = format_rfc3339_seconds(now).to_string()[..10].replace('-', "/");
        let stream = format!("{date}/[$LATEST]{}", Uuid::new_v4().simple());
        Self { stream: stream.into(), write: Arc::new(write) }
    }

    pub(super) fn stream(&self) -> &str {
        &self.stream
    }

    pub(super) fn own(&self, line: String) {
        (self.write)(&self.stream, LogLine::Own(line));
    }

    pub(super) fn start(&self, request_id: &str) {
        self.platform(format!("START RequestId: {request_id} Version: $LATEST"));
    }

    pub(super) fn end(&self, request_id: &str, report: &Report<'_>) {
        self.platform(format!("END RequestId: {request_id}"));
        self.platform(format!("REPORT RequestId: {request_id}\t{report}"));
    }

    fn platform(&self, line: String) {
        (self.write)(&self.stream, LogLine::Platform(line));
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// Lambda's report on an invocation. The memory that it used is not known here.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) duration: Duration,
    /// Duration of the process's start, if this was its first invocation.
    pub(super) init: Option<Duration>,
    pub(super) memory_mb: u32,
    pub(super) ended: &'a Ended,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let billed = milliseconds(self.duration + self.init.unwrap_or_default()).ceil();
        write!(f, "Duration: {:.2} ms\tBilled Duration: {billed} ms\t", milliseconds(self.duration))?;
        write!(f, "Memory Size: {} MB\t", self.memory_mb)?;
        if let Some(init) = self.init {
            write!(f, "Init Duration: {:.2} ms\t", milliseconds(init))?;
        }
        match self.ended {
            Ended::Response(_) | Ended::Error(_) => Ok(()),
            Ended::TimedOut => write!(f, "Status: timeout"),
            Ended::Exited(_) => write!(f, "Status: error\tError Type: Runtime.ExitError"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_stream_is_named_by_the_day_and_the_version() {
        let log = Log::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000), |_, _| ());
        let id = log.stream().strip_prefix("2023/11/14/[$LATEST]").unwrap();
        assert_eq!((id.len(), id.chars().all(|char| char.is_ascii_hexdigit())), (32, true));
    }

    #[test]
    fn an_invocation_has_a_start_an_end_and_a_report() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let log = Log::new(SystemTime::UNIX_EPOCH, move |_, line| written.lock().unwrap().push(line));
        log.start("r1");
        let response = Ended::Response(Bytes::new());
        let init = Some(Duration::from_millis(20));
        let report = |ended| Report { duration: Duration::from_micros(1_234), init, memory_mb: 128, ended };
        log.end("r1", &report(&response));
        log.end("r2", &Report { init: None, ..report(&Ended::TimedOut) });
        let lines: Vec<_> = lines.lock().unwrap().drain(..).collect();
        let platform = |line: &str| LogLine::Platform(line.to_owned());
        assert_eq!(
            lines,
            [
                platform("START RequestId: r1 Version: $LATEST"),
                platform("END RequestId: r1"),
                platform(
                    "REPORT RequestId: r1\tDuration: 1.23 ms\tBilled Duration: 22 ms\tMemory Size: 128 MB\tInit \
                     Duration: 20.00 ms\t"
                ),
                platform("END RequestId: r2"),
                platform(
                    "REPORT RequestId: r2\tDuration: 1.23 ms\tBilled Duration: 2 ms\tMemory Size: 128 MB\tStatus: timeout"
                ),
            ]
        );
    }
}
