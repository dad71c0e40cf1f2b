//! A queue whose letters may be received.

use std::ops::Deref;

use redrive_sqs::queue_name;

use crate::ask::{Yes, confirm};
use crate::aws::Aws;
use crate::find::Queue;
use crate::problem::Problem;
use crate::tell::tell;

/// A queue whose letters may be received. If a dead-letter queue has its own redrive policy, receives may move its letters.
/// Only this file constructs the type, so every verb has to ask the user first.
#[derive(Debug, Clone)]
pub(crate) struct Receivable(Queue);

impl Receivable {
    /// Asks the user if receives may move letters, unless the answer is known.
    ///
    /// # Errors
    /// The answer is not yes.
    pub(crate) fn ask(queue: Queue, sure: Yes) -> Result<Self, Problem> {
        if let Some(why) = why_receives_move(&queue) {
            match sure.yes {
                true => tell(format_args!("warning: {why}")),
                false => {
                    let question =
                        format!("receive letters of {}, although this may move them", queue.name());
                    confirm(&question, &format!("{why}."), "nothing was received")?;
                }
            }
        }
        Ok(Self(queue))
    }

    /// Returns the queue if receives move no letters, without a question.
    ///
    /// # Errors
    /// Receives may move the letters, and why.
    pub(crate) fn if_nothing_moves(queue: Queue) -> Result<Self, String> {
        match why_receives_move(&queue) {
            Some(why) => Err(why),
            None => Ok(Self(queue)),
        }
    }

    /// Reads the attributes again.
    ///
    /// # Errors
    /// The queue is gone, or permission is missing.
    pub(crate) async fn refresh(&self, aws: &Aws) -> anyhow::Result<Self> {
        self.0.refresh(aws).await.map(Self)
    }
}

impl Deref for Receivable {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.0
    }
}

fn why_receives_move(queue: &Queue) -> Option<String> {
    let policy = queue.redrive_policy()?;
    let to = queue_name(&policy.dead_letter_target_arn);
    let times = match policy.max_receive_count {
        1 => "1 receive".to_owned(),
        count => format!("{count} receives"),
    };
    Some(format!(
        "{} has its own redrive policy: after {times} SQS moves a letter to {to}, and each look is a receive",
        queue.name()
    ))
}
