//! One invocation, from its process to its result.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use redrive_sqs::is_fifo;
use tokio::sync::watch;
use tokio::time::Instant;

use super::event::{EventKind, InvocationOutcome, StartFailure};
use crate::clock::Running;
use crate::mapping::{self, MappingConfig};
use crate::queue::Received;
use crate::runtime_api::{Ended, Function, Log, Process};

/// A batch on its way through a function.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// Index of its mapping.
    pub(crate) mapping: usize,
    pub(crate) request_id: String,
    pub(crate) messages: Vec<Received>,
    /// Keeps time real until the response has been processed.
    pub(crate) running: Running,
}

#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) invocation: Invocation,
    pub(crate) ended: Result<Ended, StartFailure>,
    pub(crate) duration: Duration,
    /// The process, if it can take another invocation.
    pub(crate) process: Option<Process>,
}

/// The result of an invocation for its messages, by their ids.
#[derive(Debug)]
pub(crate) struct Judgement<'a> {
    pub(crate) outcome: InvocationOutcome,
    /// Messages that stay in their queue.
    pub(crate) failed: BTreeSet<&'a str>,
    /// Messages of these that stay because an earlier one of their FIFO group failed: they did not run.
    pub(crate) behind: BTreeSet<&'a str>,
    /// Messages that are deleted although the function reports them as failed, because the mapping did not request such
    /// reports.
    pub(crate) ignored: BTreeSet<&'a str>,
}

impl Invocation {
    /// Runs the invocation in the given process, or in a new one. When `stop` becomes true, the process ends.
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
                    let reason = format!("{} could not be run: {error}", function.config.command.display());
                    return self.finish(Err(StartFailure { reason, output: Vec::new() }), begun, None);
                }
            },
        };
        let conversation = async {
            if new {
                process.ready().await?;
                begun = Instant::now();
            }
            Ok(process.invoke(&function, &self.request_id, self.running.now(), event).await)
        };
        let ended = tokio::select! {
            ended = conversation => ended,
            // The sender is dropped only together with this task.
            _ = stop.wait_for(|stop| *stop) => Ok(Ended::Exited("stopped".into())),
        };
        let duration = begun.elapsed();
        let reusable = matches!(ended, Ok(Ended::Response(_) | Ended::Error(_))) && process.is_alive();
        let (process, output) =
            if reusable { (Some(process), Vec::new()) } else { (None, process.end().await) };
        let ended = ended.map_err(|reason| StartFailure { reason, output });
        Finished { duration, ..self.finish(ended, begun, process) }
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

    /// Returns the result. Without `FunctionResponseTypes`, Lambda ignores reported failures.
    pub(crate) fn judge(&self, config: &MappingConfig) -> Judgement<'_> {
        let report_batch_item_failures = config.report_batch_item_failures;
        let known: BTreeSet<&str> =
            self.invocation.messages.iter().map(|message| message.message_id.as_str()).collect();
        let outcome = match &self.ended {
            Ok(Ended::Response(response)) => match mapping::failed_messages(response, &known) {
                Err(reason) if report_batch_item_failures => InvocationOutcome::BadResponse(reason),
                reported => {
                    let (failed, ignored) = match reported.unwrap_or_default() {
                        reported if report_batch_item_failures => (reported, BTreeSet::new()),
                        reported => (BTreeSet::new(), reported),
                    };
                    let behind = self.behind(&failed, is_fifo(&config.queue));
                    return Judgement { outcome: InvocationOutcome::Succeeded, failed, behind, ignored };
                }
            },
            Ok(Ended::Error(error)) => InvocationOutcome::Error(error.clone()),
            Ok(Ended::TimedOut) => InvocationOutcome::TimedOut,
            Ok(Ended::Exited(status)) => InvocationOutcome::Exited(status.clone()),
            Err(failure) => InvocationOutcome::NotStarted(failure.clone()),
        };
        Judgement { outcome, failed: known, behind: BTreeSet::new(), ignored: BTreeSet::new() }
    }

    /// Returns the failed messages behind the first one of their group. A function stops a group at its first failure:
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
    fn behind<'a>(&'a self, failed: &BTreeSet<&str>, is_fifo: bool) -> BTreeSet<&'a str> {
        let mut groups = BTreeSet::new();
        let messages = self.invocation.messages.iter();
        let failed = messages.filter(|message| is_fifo && failed.contains(message.message_id.as_str()));
        let behind = failed.filter(|message| !groups.insert(&message.group_id));
        behind.map(|message| message.message_id.as_str()).collect()
    }
}
