//! One invocation, from the process that it needs to the end of what it says.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::event::{EventKind, InvocationOutcome};
use crate::clock::Running;
use crate::mapping::{self, MappingConfig};
use crate::queue::Received;
use crate::runtime_api::{Ended, Function, Log, Process};

/// A batch on its way through a function.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// The index of the mapping that it belongs to.
    pub(crate) mapping: usize,
    pub(crate) request_id: String,
    pub(crate) messages: Vec<Received>,
    /// Keeps time real until what the function said has been acted on.
    pub(crate) _running: Running,
}

/// An invocation that is over.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) invocation: Invocation,
    pub(crate) ended: Result<Ended, StartFailure>,
    pub(crate) duration: Duration,
    /// The process, if it can take another one.
    pub(crate) process: Option<Process>,
}

/// Why a process did not even ask for work.
#[derive(Debug)]
pub(crate) struct StartFailure(pub(crate) String);

impl Invocation {
    /// Runs it in the process given, or in a new one. When `stop` becomes true the process is ended.
    pub(crate) async fn run(
        self,
        function: Arc<Function>,
        idle: Option<Process>,
        event: Vec<u8>,
        log: Log,
        mut stop: watch::Receiver<bool>,
    ) -> Finished {
        let mut begun = Instant::now();
        let (mut process, new) = match idle {
            Some(process) => (process, false),
            None => match Process::spawn(&function, log).await {
                Ok(process) => (process, true),
                Err(error) => {
                    let failure = format!("could not run {}: {error}", function.config.command.display());
                    return self.finish(Err(StartFailure(failure)), begun, None);
                }
            },
        };
        let conversation = async {
            if new {
                process.ready().await.map_err(StartFailure)?;
                begun = Instant::now();
            }
            Ok(process.invoke(&function, &self.request_id, event).await)
        };
        let ended = tokio::select! {
            ended = conversation => ended,
            // The other end is dropped only together with this task.
            _ = stop.wait_for(|stop| *stop) => Ok(Ended::Exited("stopped".into())),
        };
        let duration = begun.elapsed();
        let reusable = matches!(ended, Ok(Ended::Response(_) | Ended::Error(_))) && process.is_alive();
        if reusable {
            return Finished { duration, ..self.finish(ended, begun, Some(process)) };
        }
        process.end().await;
        Finished { duration, ..self.finish(ended, begun, None) }
    }

    fn finish(
        self,
        ended: Result<Ended, StartFailure>,
        begun: Instant,
        process: Option<Process>,
    ) -> Finished {
        Finished { invocation: self, ended, duration: begun.elapsed(), process }
    }
}

impl Finished {
    pub(crate) fn event(
        &self,
        config: &MappingConfig,
        outcome: InvocationOutcome,
        failed: usize,
    ) -> EventKind {
        EventKind::InvocationEnded {
            function: config.function.clone(),
            request_id: self.invocation.request_id.clone(),
            outcome,
            failed,
            duration_ms: self.duration.as_millis() as u64,
        }
    }

    /// How it ended, and the ids of the messages that are to stay in their queue.
    pub(crate) fn judge(&self, report_batch_item_failures: bool) -> (InvocationOutcome, BTreeSet<&str>) {
        let known: BTreeSet<&str> =
            self.invocation.messages.iter().map(|message| message.message_id.as_str()).collect();
        let outcome = match &self.ended {
            Ok(Ended::Response(_)) if !report_batch_item_failures => {
                return (InvocationOutcome::Succeeded, BTreeSet::new());
            }
            Ok(Ended::Response(response)) => match mapping::failed_messages(response, &known) {
                Ok(failed) => return (InvocationOutcome::Succeeded, failed),
                Err(reason) => InvocationOutcome::BadResponse(reason),
            },
            Ok(Ended::Error(error)) => InvocationOutcome::Error(error.clone()),
            Ok(Ended::TimedOut) => InvocationOutcome::TimedOut,
            Ok(Ended::Exited(status)) => InvocationOutcome::Exited(status.clone()),
            Err(StartFailure(reason)) => {
                InvocationOutcome::Error(format!("the function did not start: {reason}"))
            }
        };
        (outcome, known)
    }
}
