//! The worker processes, which are killed and started again.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::history::{self, StepKind};
use super::queues::Queues;
use super::tally::Worker;
use super::worker::{Orders, VARIABLE};
use crate::aws::Place;

/// Workers at the same time, so that a message may reach a worker that has not seen it.
const AT_A_TIME: usize = 2;

/// Time for a worker to end after SIGTERM.
const TO_END: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Crew<'a> {
    folder: &'a Path,
    queues: &'a Queues,
    place: &'a Place,
    /// Those that work, the oldest first, with the input whose end would end them.
    running: Vec<(usize, Child, Option<ChildStdin>)>,
    /// All that ever worked.
    pub(super) workers: Vec<Worker>,
    /// How much of each history has been read.
    read: Vec<u64>,
    ended: usize,
}

impl<'a> Crew<'a> {
    /// Starts the workers.
    ///
    /// # Errors
    /// A process cannot be started.
    pub(super) fn start(folder: &'a Path, queues: &'a Queues, place: &'a Place) -> anyhow::Result<Self> {
        let mut crew =
            Self { folder, queues, place, running: vec![], workers: vec![], read: vec![], ended: 0 };
        for _ in 0..AT_A_TIME {
            crew.start_one()?;
        }
        Ok(crew)
    }

    fn start_one(&mut self) -> anyhow::Result<()> {
        let number = self.workers.len();
        let Place { region, profile, endpoint_url, .. } = self.place.clone();
        let queue_urls = vec![self.queues.standard.clone(), self.queues.fifo.clone()];
        let orders = Orders { history: self.history(number), queue_urls, region, profile, endpoint_url };
        let output = File::create(self.folder.join(format!("worker-{number}.log")))?;
        let mut command = Command::new(std::env::current_exe()?);
        // The settings of somebody's own worker do not apply.
        let own = std::env::vars_os().map(|(name, _)| name);
        own.filter(|name| name.to_string_lossy().starts_with("REDRIVE_")).for_each(|name| {
            command.env_remove(name);
        });
        let mut child = command
            .env(VARIABLE, serde_json::to_string(&orders)?)
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
            .context("could not start a worker")?;
        let stdin = child.stdin.take();
        self.running.push((number, child, stdin));
        self.workers.push(Worker::default());
        self.read.push(0);
        Ok(())
    }

    fn history(&self, number: usize) -> PathBuf {
        self.folder.join(format!("worker-{number}.jsonl"))
    }

    /// Kills the oldest worker and starts another.
    ///
    /// # Errors
    /// It cannot be killed, or the other cannot be started.
    pub(super) async fn kill_one(&mut self) -> anyhow::Result<()> {
        let (number, mut oldest, _stdin) = self.running.remove(0);
        oldest.kill().await.context("could not kill a worker")?;
        self.workers[number].was_killed = true;
        self.start_one()
    }

    pub(super) fn kills(&self) -> usize {
        self.workers.iter().filter(|worker| worker.was_killed).count()
    }

    /// Reads what the workers have written since, and returns how many handlers have ended.
    ///
    /// # Errors
    /// A history cannot be read, or a worker has ended by itself.
    pub(super) fn look(&mut self) -> anyhow::Result<usize> {
        for number in 0..self.workers.len() {
            let (steps, end) = history::read(&self.history(number), self.read[number])?;
            self.ended += steps.iter().filter(|step| matches!(step.what, StepKind::Ended { .. })).count();
            self.workers[number].steps.extend(steps);
            self.read[number] = end;
        }
        for (number, child, _) in &mut self.running {
            if let Some(status) = child.try_wait()? {
                let log = self.folder.join(format!("worker-{number}.log"));
                bail!("a worker ended with {status}: {}", last_line(&log));
            }
        }
        Ok(self.ended)
    }

    /// Lets the workers end as a deployment does.
    ///
    /// # Errors
    /// One does not end in time, or with an error.
    pub(super) async fn end(&mut self) -> anyhow::Result<()> {
        for (_, child, _) in &self.running {
            let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            id.map_or(Ok(()), |id| kill_process(id, Signal::TERM)).context("could not end a worker")?;
        }
        for (number, mut child, _stdin) in std::mem::take(&mut self.running) {
            let ended =
                timeout(TO_END, child.wait()).await.context("a worker does not end after SIGTERM")??;
            if !ended.success() {
                let log = self.folder.join(format!("worker-{number}.log"));
                bail!("a worker ended with {ended} after SIGTERM: {}", last_line(&log));
            }
        }
        self.look().map(|_| ())
    }
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().next_back().unwrap_or("its log is empty").to_owned()
}
