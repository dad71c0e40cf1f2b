//! A queue whose letters may be received.

use std::ops::Deref;

use redrive_sqs::queue_name;

use crate::ask::{Yes, confirm};
use crate::aws::Aws;
use crate::find::Queue;
use crate::problem::Problem;
use crate::tell::tell;

/// A queue whose letters may be received. If a dead-letter queue has its own redrive policy, receiving its letters may move
/// them. Only this file constructs the type, so every verb has to ask.
#[derive(Debug, Clone)]
pub(crate) struct Receivable(Queue);

impl Receivable {
    /// Asks before letters are received that SQS may move for it, unless the answer is known.
    ///
    /// # Errors
    /// Any answer but yes.
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

    /// Without a question.
    ///
    /// # Errors
    /// Why receives may move the letters.
    pub(crate) fn if_nothing_moves(queue: Queue) -> Result<Self, String> {
        match why_receives_move(&queue) {
            Some(why) => Err(why),
            None => Ok(Self(queue)),
        }
    }

    /// Reads the attributes anew.
    ///
    /// # Errors
    /// The queue is gone; no permission.
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
