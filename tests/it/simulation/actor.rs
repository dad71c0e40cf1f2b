//! The handler: follows the scenario, and records its runs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use redrive::{Bulk, Failure, Handler, Message};
use tokio::time::{Instant, sleep};

use super::calls;
use super::history::Run;
use super::scenario::{Says, Scenario};

#[derive(Clone)]
pub(super) struct Actor {
    pub(super) scenario: Arc<Scenario>,
    pub(super) began: Instant,
    pub(super) runs: Arc<Mutex<Vec<Run>>>,
    calls: Arc<AtomicU32>,
}

/// A call of a bulk handler, which ends in whatever way.
struct Call<'a> {
    actor: &'a Actor,
    number: u32,
    says: Option<Says>,
}

impl Actor {
    pub(super) fn new(scenario: Arc<Scenario>) -> Self {
        Self { scenario, began: Instant::now(), runs: Arc::default(), calls: Arc::default() }
    }
}

impl Handler<Message<usize>> for Actor {
    type Error = Failure;

    async fn call(&self, message: Message<usize>) -> Result<(), Failure> {
        let (number, attempt) = (message.body, message.attempt);
        let turn = self.scenario.messages[number].turn(attempt);
        let at = {
            let mut runs = self.runs.lock().unwrap();
            runs.push(Run::alone(number, attempt));
            runs.len() - 1
        };
        sleep(turn.takes).await;
        if turn.says == Says::Hang {
            std::future::pending::<()>().await;
        }
        {
            let run = &mut self.runs.lock().unwrap()[at];
            (run.said, run.ended) = (Some(turn.says), self.began.elapsed());
        }
        finish(turn.says)
    }
}

impl Handler<Bulk<Message<usize>>> for Actor {
    type Error = Failure;

    async fn call(&self, bulk: Bulk<Message<usize>>) -> Result<(), Failure> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let mut call = Call { actor: self, number, says: None };
        let messages: Vec<_> = bulk.iter().map(|item| (item.body, item.attempt)).collect();
        calls::begin(&mut self.runs.lock().unwrap(), &self.scenario, number, &messages);
        let mut whole = Says::Ok;
        for item in bulk {
            let turn = self.scenario.messages[item.body].turn(item.attempt);
            sleep(turn.takes).await;
            match turn.says {
                Says::Hang => std::future::pending().await,
                Says::Panic => {
                    call.says = Some(Says::Panic);
                    return finish(Says::Panic);
                }
                says if turn.rules => {
                    calls::rule(&mut self.runs.lock().unwrap(), item.body, says, self.began.elapsed());
                    match says.result() {
                        Ok(()) => item.done(),
                        Err(failure) => item.fail(failure),
                    }
                }
                says if whole == Says::Ok => whole = says,
                _ => {}
            }
        }
        call.says = Some(whole);
        finish(whole)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let Actor { scenario, began, runs, .. } = self.actor;
        calls::end(&mut runs.lock().unwrap(), scenario, self.number, self.says, began.elapsed());
    }
}

fn finish(says: Says) -> Result<(), Failure> {
    match says {
        // Like a panic, but it says nothing on standard error.
        Says::Panic => std::panic::resume_unwind(Box::new("boom")),
        says => says.result(),
    }
}
