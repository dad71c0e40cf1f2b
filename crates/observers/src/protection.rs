//! Keeps the ECS service from stopping this task for a deployment or while scaling in, as long as messages are in hand.
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
#![expect(clippy::disallowed_methods, reason = "impure: it reads the clock")]

mod agent;
mod plan;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use self::agent::Agent;
use self::plan::{ProtectionPlan, ProtectionStep};

/// Target of this module's log lines.
const TARGET: &str = "redrive::worker::protection";

/// Time that the process's end waits for the last release. Without it, protection ends by itself, and a task that has ended needs
/// none.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Protection of the task in which this process runs.
#[derive(Debug)]
pub struct Protection {
    in_hand: Arc<watch::Sender<usize>>,
    /// Closed once all workers have ended.
    working: watch::Sender<()>,
    asking: JoinHandle<ProtectionPlan>,
    agent: Agent,
}

impl Protection {
    /// Spawns a task that calls the ECS agent at `agent`, the value of `ECS_AGENT_URI`. It retries failed calls, and logs one
    /// warning per streak.
    ///
    /// # Errors
    /// The value is not a URL that begins with `http://`. The error is one line that names it.
    pub fn start(agent: &str) -> Result<Self, String> {
        let agent = Agent::new(agent)?;
        let (in_hand, changes) = watch::channel(0);
        let asking = tokio::spawn(ask(agent.clone(), changes));
        Ok(Self { in_hand: Arc::new(in_hand), working: watch::Sender::new(()), asking, agent })
    }

    /// Returns the share of one worker.
    #[must_use]
    pub fn share(&self) -> ProtectionShare {
        let (in_hand, is_working) = (Arc::clone(&self.in_hand), self.working.subscribe());
        ProtectionShare { in_hand, own: 0, _is_working: is_working }
    }

    /// Waits until all shares are dropped, and then releases protection once.
    pub async fn release(self) {
        let Self { in_hand, working, mut asking, agent } = self;
        working.closed().await;
        drop(in_hand);
        let release = async {
            let plan = (&mut asking).await.ok()?;
            plan.may_be_protected().then_some(())?;
            Some(agent.set(false).await)
        };
        match timeout(RELEASE_TIMEOUT, release).await {
            Ok(Some(Err(error))) => warn!(target: TARGET, error, "the task's protection was not released"),
            Ok(_) => {}
            Err(_) => {
                warn!(target: TARGET, patience = ?RELEASE_TIMEOUT, "the task's protection was not released in time")
            }
        }
        asking.abort();
    }
}

/// The messages in hand of one worker.
#[derive(Debug)]
pub struct ProtectionShare {
    in_hand: Arc<watch::Sender<usize>>,
    own: usize,
    _is_working: watch::Receiver<()>,
}

impl ProtectionShare {
    /// Records the number of the worker's messages in hand. Each change costs a lock, and a wake-up if a message is the first or
    /// the last of the process.
    pub fn in_hand(&mut self, messages: usize) {
        let before = std::mem::replace(&mut self.own, messages);
        self.in_hand.send_if_modified(|all| {
            let was_idle = *all == 0;
            *all = *all - before + messages;
            was_idle != (*all == 0)
        });
    }
}

impl Drop for ProtectionShare {
    fn drop(&mut self) {
        self.in_hand(0);
    }
}

async fn ask(agent: Agent, mut in_hand: watch::Receiver<usize>) -> ProtectionPlan {
    let started = Instant::now();
    let mut plan = ProtectionPlan::default();
    loop {
        plan.in_hand(*in_hand.borrow_and_update(), started.elapsed());
        let step = plan.next(started.elapsed());
        let has_ended = match step {
            ProtectionStep::Wait => in_hand.changed().await.is_err(),
            ProtectionStep::WaitUntil(due) => tokio::select! {
                changed = in_hand.changed() => changed.is_err(),
                () = sleep_until(started + due) => false,
            },
            ProtectionStep::Protect | ProtectionStep::Release => {
                call(&agent, &mut plan, step, started).await;
                in_hand.has_changed().is_err()
            }
        };
        if has_ended {
            return plan;
        }
    }
}

async fn call(agent: &Agent, plan: &mut ProtectionPlan, step: ProtectionStep, started: Instant) {
    let protects = step == ProtectionStep::Protect;
    if protects {
        plan.request_begins();
    }
    let answer = agent.set(protects).await;
    let is_first = plan.answered(step, answer.is_ok(), started.elapsed());
    match answer {
        Err(error) if is_first => {
            warn!(target: TARGET, error, protects, "the ECS agent did not change the task's protection")
        }
        Err(_) => {}
        Ok(()) => info!(target: TARGET, protects, "the task's protection was changed"),
    }
}

#[cfg(test)]
mod tests;
