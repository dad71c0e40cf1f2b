//! A process of the runtime, which leads its own process group.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::exchange::{Answer, ErrorReport, NextRequest, Offer, RuntimeApi};
use crate::lambda::Lambda;

/// The command that Lambda hands to a wrapper, and the process that was started last.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    command: Vec<OsString>,
    lambda: Lambda,
    last: Arc<Mutex<Option<Started>>>,
    lost_extension: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Started {
    group: Option<Pid>,
    exited: Exited,
    /// Task that waits for the process. It outlives the `Process`, which only kills.
    _waiter: JoinSet<()>,
}

/// A process. Dropping the value kills it, together with all that it has started.
#[derive(Debug)]
pub(crate) struct Process {
    group: Option<Pid>,
    exited: Exited,
    runtime_api: RuntimeApi,
    next_request: Option<NextRequest>,
    lost_extension: Arc<AtomicBool>,
}

/// Time that a process may take to end after SIGKILL, while its memory is freed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The end of a process, or `None` while it runs.
type Exited = watch::Receiver<Option<End>>;

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Code(i32),
    Signal(i32),
}

/// The reason why a process gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// It never asked for the invocation.
    NotReady(NotReady),
    /// It ended while it worked on the invocation.
    Exited(End),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotReady {
    Exited(End),
    InitError(ErrorReport),
    /// It has reported to Lambda that it cannot start.
    Passed,
}

impl Program {
    pub(crate) fn new(command: Vec<OsString>, lambda: Lambda) -> Self {
        Self { command, lambda, last: Arc::default(), lost_extension: Arc::default() }
    }

    /// Returns true if a process has ended that was also an extension, for which Lambda waits after each invocation.
    pub(crate) fn has_lost_extension(&self) -> bool {
        self.lost_extension.load(Ordering::Relaxed)
    }

    /// Starts a process after the previous one has ended, because a function's memory holds one. `is_init` is true if Lambda
    /// waits for it to be ready.
    pub(crate) async fn start(&self, is_init: bool) -> io::Result<Process> {
        let before = self.last().as_ref().map(|started| started.exited.clone());
        if let Some(mut exited) = before {
            let _ = timeout(KILL_TIMEOUT, ended(&mut exited)).await;
        }
        let (runtime_api, address) = RuntimeApi::start(self.lambda.clone(), is_init).await?;
        let [name, arguments @ ..] = self.command.as_slice() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut child = Command::new(name)
            .args(arguments)
            .env("AWS_LAMBDA_RUNTIME_API", address)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", name.display())))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let (exit, exited) = watch::channel(None);
        let mut waiter = JoinSet::new();
        waiter.spawn(async move {
            // An error means that other code has waited for the process.
            let status = child.wait().await.unwrap_or_default();
            let _ = exit.send(Some(End::of(status)));
        });
        *self.last() = Some(Started { group, exited: exited.clone(), _waiter: waiter });
        let lost_extension = Arc::clone(&self.lost_extension);
        Ok(Process { group, exited, runtime_api, next_request: None, lost_extension })
    }

    /// Passes SIGTERM on to the process that runs, and waits for its end.
    pub(crate) async fn terminate(&self) -> Option<End> {
        let (group, mut exited) =
            self.last().as_ref().and_then(|started| Some((started.group?, started.exited.clone())))?;
        // It may have ended.
        let _ = kill_process_group(group, Signal::TERM);
        ended(&mut exited).await.into()
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<Started>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    /// Waits until the process asks for an invocation, and returns its request.
    pub(crate) async fn ready(&mut self) -> Result<&NextRequest, NotReady> {
        if self.next_request.is_none() {
            let request = tokio::select! {
                biased;
                answer = self.runtime_api.answers.recv() => Err(match answer {
                    Some(Answer::InitError(report)) => NotReady::InitError(report),
                    _ => NotReady::Passed,
                }),
                request = self.runtime_api.next_requests.recv() => Ok(request.expect("the server lives as long as this")),
                end = ended(&mut self.exited) => Err(NotReady::Exited(end)),
            };
            self.next_request = Some(request?);
        }
        Ok(self.next_request.as_ref().expect("it was set above"))
    }

    /// Waits until the process ends by itself.
    pub(crate) async fn end(&mut self) -> End {
        ended(&mut self.exited).await
    }

    /// Gives the process an invocation, and waits for its answer.
    pub(crate) async fn invoke(&mut self, offer: Offer) -> Result<Answer, NoAnswer> {
        self.deliver(offer.numbered(), RuntimeApi::offer).await
    }

    /// Does the same with an invocation whose answer Lambda gets as it is.
    pub(crate) async fn pass(&mut self, offer: Offer) -> Result<Answer, NoAnswer> {
        self.deliver(offer, RuntimeApi::pass).await
    }

    async fn deliver(
        &mut self,
        mut offer: Offer,
        give: impl Fn(&RuntimeApi, NextRequest, Offer) -> Option<Offer>,
    ) -> Result<Answer, NoAnswer> {
        loop {
            self.ready().await.map_err(NoAnswer::NotReady)?;
            let request = self.next_request.take().expect("it is ready");
            match give(&self.runtime_api, request, offer) {
                None => break,
                // A runtime that has closed the connection of its request asks again, or ends.
                Some(refused) => offer = refused,
            }
        }
        loop {
            tokio::select! {
                biased;
                answer = self.runtime_api.answers.recv() => {
                    return Ok(answer.expect("the server lives as long as this"));
                }
                request = self.runtime_api.next_requests.recv(), if self.next_request.is_none() => {
                    self.next_request = request;
                    if self.runtime_api.withdraw() {
                        return Ok(Answer::Error(ErrorReport::unanswered()));
                    }
                }
                end = ended(&mut self.exited) => return Err(NoAnswer::Exited(end)),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.lost_extension.fetch_or(self.runtime_api.has_extension(), Ordering::Relaxed);
        if let Some(group) = self.group {
            // It may be empty.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn ended(exited: &mut Exited) -> End {
    let end = exited.wait_for(Option::is_some).await;
    end.ok().and_then(|end| *end).unwrap_or(End::Code(0))
}

impl End {
    fn of(status: ExitStatus) -> Self {
        status.code().map_or_else(|| Self::Signal(status.signal().unwrap_or_default()), Self::Code)
    }

    /// Returns the exit code as a shell reports it.
    pub(crate) fn code(self) -> u8 {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        };
        u8::try_from(code).unwrap_or(1)
    }

    /// Returns an error report in the words of Lambda.
    pub(crate) fn report(self) -> ErrorReport {
        let message = match self {
            Self::Code(0) => "Runtime exited without providing a reason".to_owned(),
            Self::Code(code) => format!("Runtime exited with error: exit status {code}"),
            Self::Signal(signal) => format!("Runtime exited with error: signal {signal}"),
        };
        ErrorReport { kind: "Runtime.ExitError".to_owned(), message }
    }
}

impl NotReady {
    pub(crate) fn report(self) -> ErrorReport {
        match self {
            Self::Exited(end) => end.report(),
            Self::InitError(report) => report,
            Self::Passed => ErrorReport { kind: "Runtime.InitError".to_owned(), message: String::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::test_kill_process;

    use super::*;

    #[tokio::test]
    async fn a_process_starts_after_the_one_before_it_has_freed_its_memory() {
        let script = "import os, urllib.request\n\
            memory = b'x' * (1 << 28)\n\
            api = os.environ['AWS_LAMBDA_RUNTIME_API']\n\
            urllib.request.urlopen(f'http://{api}/2018-06-01/runtime/invocation/next')";
        let program = Program::new(["python3", "-c", script].map(OsString::from).into(), Lambda::at("none"));
        let mut process = program.start(true).await.unwrap();
        process.ready().await.unwrap();
        let old = process.group.unwrap();
        drop(process);
        let _new = program.start(false).await.unwrap();
        assert!(test_kill_process(old).is_err(), "it is gone");
    }
}
