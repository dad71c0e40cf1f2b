//! The handler: does what the plan says, and records its runs.

use std::sync::{Arc, Mutex};

use redrive::{Bulk, Failure, Handler, Message};
use redrive_local::kit::TestAws;
use tokio::time::sleep;

use super::log::{Log, Run};
use super::plan::Plan;
use crate::simulation::scenario::Says;

#[derive(Debug, Clone)]
pub(super) struct Actor {
    pub(super) plan: Arc<Plan>,
    pub(super) aws: TestAws,
    pub(super) url: String,
    pub(super) log: Arc<Mutex<Log>>,
    pub(super) life: usize,
    /// Nothing goes wrong any more.
    pub(super) is_last: bool,
}

/// Messages in a handler. They end with it, in whatever way.
struct Running<'a> {
    actor: &'a Actor,
    runs: Vec<usize>,
}

impl<'a> Running<'a> {
    fn begin(actor: &'a Actor, messages: impl Iterator<Item = usize>) -> Self {
        let mut log = actor.log.lock().unwrap();
        let (began, call) = (actor.aws.elapsed(), log.runs.len());
        let runs = messages.map(|message| {
            let (life, ended, said) = (actor.life, None, None);
            log.runs.push(Run { life, message, call, began, ended, said });
            log.runs.len() - 1
        });
        let runs = runs.collect();
        Self { actor, runs }
    }

    fn says(&self, at: usize, says: Says) {
        let run = &mut self.actor.log.lock().unwrap().runs[self.runs[at]];
        (run.said, run.ended) = (Some(says), Some(self.actor.aws.elapsed()));
    }

    /// Somebody else deletes the message.
    async fn is_taken_away(&self, message: usize) {
        let handle = {
            let mut log = self.actor.log.lock().unwrap();
            let handle = log.handle(self.actor.life, message, self.actor.aws.elapsed());
            let handle = handle.unwrap().handle.clone();
            log.taken_away.push(message);
            handle
        };
        let client = self.actor.aws.sqs();
        let delete = client.delete_message().queue_url(&self.actor.url).receipt_handle(handle);
        // It may be somebody else's by now.
        let _ = delete.send().await;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut log = self.actor.log.lock().unwrap();
        let now = self.actor.aws.elapsed();
        for &run in &self.runs {
            log.runs[run].ended.get_or_insert(now);
        }
    }
}

impl Handler<Message<usize>> for Actor {
    async fn call(&self, message: Message<usize>) -> Result<(), Failure> {
        let turn = self.plan.messages[message.body].turn(message.attempt);
        let running = Running::begin(self, [message.body].into_iter());
        sleep(turn.takes / 2).await;
        if turn.is_taken_away && !self.is_last {
            running.is_taken_away(message.body).await;
        }
        sleep(turn.takes / 2).await;
        running.says(0, turn.says);
        if turn.says == Says::Panic {
            std::panic::resume_unwind(Box::new("boom"));
        }
        turn.says.result()
    }
}

impl Handler<Bulk<Message<usize>>> for Actor {
    async fn call(&self, bulk: Bulk<Message<usize>>) -> Result<(), Failure> {
        let running = Running::begin(self, bulk.iter().map(|item| item.body));
        let turns: Vec<_> = bulk.iter().map(|it| self.plan.messages[it.body].turn(it.attempt)).collect();
        sleep(turns.iter().map(|turn| turn.takes).max().unwrap_or_default()).await;
        for (at, (item, turn)) in bulk.into_iter().zip(turns).enumerate() {
            let says = if turn.says == Says::Panic { Says::Error } else { turn.says };
            running.says(at, says);
            match says.result() {
                Ok(()) => item.done(),
                Err(failure) => item.fail(failure),
            }
        }
        Ok(())
    }
}
