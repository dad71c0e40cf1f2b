//! `--native`: moves all letters with a move task of AWS.
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html>

mod task;

use std::time::Duration;

use anyhow::{anyhow, bail};
use tokio::time::Instant;

use self::task::{Status, Task};
use crate::ask::Consent;
use crate::aws::{Aws, DescribeError};
use crate::find::Queue;
use crate::history::{History, HistoryAction, UNCONFIRMED};
use crate::letters::bar;
use crate::output::{Progress, Stream};
use crate::problem::{OrProblem, Problem};
use crate::sqs::Stop;
use crate::tell::{print_json, print_line, tell};

/// Interval between polls, and between progress lines if there is no bar.
const LOOK: Duration = Duration::from_millis(500);
const NOW_AND_THEN: Duration = Duration::from_secs(10);

/// Time after which a task that AWS does not list is taken for missing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Greatest rate, in letters a second.
const FASTEST: u32 = 500;

const LIMITS: &str = "\
redrive: AWS moves all letters unchanged: no filters, notes and the senders' origins are kept, redrives are not
redrive: counted, and both letters of one message are sent";

const CONSEQUENCE: &str =
    "Letters that were moved stay moved. Message::key() changes: a handler that charges may charge twice.";

/// The parameters of a new task.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) from: Queue,
    pub(super) to: Queue,
    pub(super) question: String,
    /// The queue flags as typed, for the next command.
    pub(super) which: String,
    pub(super) place: String,
    pub(super) rate: Option<u32>,
    pub(super) consent: Consent,
    pub(super) json: bool,
    pub(super) history: History,
}

impl Start {
    /// Prints the plan, for `--dry-run`.
    pub(super) fn describe(&self) -> Result<(), Problem> {
        LIMITS.lines().for_each(tell);
        let line =
            format!("{} would be moved from {} to {}", self.from.visible(), self.from.name(), self.to.name());
        print_line(line)
    }

    /// Starts the task and follows it until it ends.
    pub(super) async fn run(&self, aws: &Aws) -> Result<(), Problem> {
        let rate = self.rate().or_input()?;
        LIMITS.lines().for_each(tell);
        let (from, to, which) = (self.from.name(), self.to.name(), &self.which);
        self.consent.confirm_in(&self.place, &self.question, CONSEQUENCE, "nothing was moved")?;
        // Before the call, so that no signal ends the command between the start of the task and the bar.
        let stop = Stop::listen().or_failed()?;
        let action = HistoryAction {
            verb: "retry --native",
            queue: &self.from.arn,
            to: Some(&self.to.arn),
            ..HistoryAction::default()
        };
        let began = self.history.start(aws, action).await;
        let started = aws
            .sqs()
            .start_message_move_task()
            .source_arn(&self.from.arn)
            // AWS does not know the source of letters that redrive wrote.
            .destination_arn(&self.to.arn)
            .set_max_number_of_messages_per_second(rate)
            .send()
            .await;
        let started =
            started.describe_error(&format!("move the letters of {from}"), "sqs:StartMessageMoveTask");
        // The task continues in AWS after this command has ended.
        let end = match &started {
            Ok(_) => HistoryAction { sent: self.from.visible(), ..action },
            Err(_) => HistoryAction { what: Some(UNCONFIRMED), ..action },
        };
        self.history.record(aws, HistoryAction { began: began.as_deref(), ..end }).await;
        started.or_failed()?;
        let bar = Stream::Stderr.is_terminal().then(|| bar(self.from.visible()));
        let followed = tokio::select! {
            followed = self.follow(aws, bar.as_ref()) => followed,
            () = stop.wanted() => Err(anyhow!(
                "AWS continues the move; watch it with redrive dlq retry{which} --native --status, and stop it with \
                 --native --cancel"
            )),
        };
        drop(bar);
        let task = followed.map_err(|error| stop.or_failed(error))?;
        if self.json { print_json(&task.json()) } else { print_line(task.sentence(from, to)) }?;
        match task.status {
            Status::Failed => Err(Problem::Failed(anyhow!(
                "the move task failed ({}): the other letters are still in {from}; retry without --native to \
                 see what is wrong with each",
                task.reason()
            ))),
            Status::Cancelled | Status::Cancelling => {
                Err(Problem::Failed(anyhow!("the move task was canceled")))
            }
            Status::Running | Status::Completed => Ok(()),
        }
    }

    fn rate(&self) -> anyhow::Result<Option<i32>> {
        match self.rate {
            Some(rate) if rate > FASTEST => bail!("--rate is {rate}, allowed with --native: 1 to {FASTEST}"),
            rate => Ok(rate.and_then(|rate| i32::try_from(rate).ok())),
        }
    }

    /// Polls until the task has ended. A queue runs only one task at a time, so it is the newest.
    async fn follow(&self, aws: &Aws, bar: Option<&Progress>) -> anyhow::Result<Task> {
        let (mut seen, mut reported) = (Instant::now(), Instant::now());
        loop {
            match tasks(aws, &self.from).await.map(|tasks| tasks.into_iter().next()) {
                Ok(Some(task)) => {
                    seen = Instant::now();
                    if let Some(bar) = bar {
                        bar.set(task.moved, task.to_move.unwrap_or(task.moved).max(task.moved));
                    } else if reported.elapsed() > NOW_AND_THEN {
                        reported = Instant::now();
                        tell(format_args!("redrive: {}", task.sentence(self.from.name(), self.to.name())));
                    }
                    if task.status.is_over() {
                        return Ok(task);
                    }
                }
                Ok(None) if seen.elapsed() > PATIENCE => {
                    bail!("AWS does not list the move task that it started")
                }
                Err(error) if seen.elapsed() > PATIENCE => return Err(error),
                Ok(None) | Err(_) => (),
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Prints the tasks, for `--status`.
pub(super) async fn status(aws: &Aws, from: &Queue, json: bool) -> Result<(), Problem> {
    let tasks = tasks(aws, from).await.or_failed()?;
    if json {
        let tasks: Vec<_> = tasks.iter().map(Task::json).collect();
        return print_json(&tasks);
    }
    if tasks.is_empty() {
        tell(format_args!("redrive: AWS lists no move task for {}", from.name()));
    }
    tasks.iter().try_for_each(|task| print_line(task.line()))
}

/// Cancels the running task, for `--cancel`.
pub(super) async fn cancel(aws: &Aws, from: &Queue) -> Result<(), Problem> {
    let tasks = tasks(aws, from).await.or_failed()?;
    let Some(handle) = tasks.into_iter().find_map(|task| task.handle) else {
        return Err(Problem::Failed(anyhow!("no move task of {} is running", from.name())));
    };
    let cancelled = aws.sqs().cancel_message_move_task().task_handle(handle).send().await;
    let doing = format!("cancel the move task of {}", from.name());
    let cancelled = cancelled.describe_error(&doing, "sqs:CancelMessageMoveTask").or_failed()?;
    let moved = cancelled.approximate_number_of_messages_moved();
    print_line(format!("canceled; {moved} letters or slightly more were moved"))
}

async fn tasks(aws: &Aws, from: &Queue) -> anyhow::Result<Vec<Task>> {
    let listed = aws.sqs().list_message_move_tasks().source_arn(&from.arn).max_results(10).send().await;
    let listed = listed
        .describe_error(&format!("list the move tasks of {}", from.name()), "sqs:ListMessageMoveTasks")?;
    Ok(listed.results.unwrap_or_default().into_iter().map(Task::new).collect())
}
