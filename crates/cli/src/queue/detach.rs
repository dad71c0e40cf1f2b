//! `redrive queue detach`: removes the redrive policy of a queue.

use clap::Args;
use redrive_sqs::queue_name;

use super::attach::{SETTLES, set_policy};
use crate::ask::Consent;
use crate::find::WhichSource;
use crate::problem::{OrProblem, Problem};
use crate::span::span;
use crate::tell::{print_line, tell};
use crate::wait::wait;

/// Removes a queue's redrive policy, so that failing messages stay in the queue until they expire.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  redrive queue detach --queue orders --dry-run
  redrive queue detach --queue orders --yes

The dead-letter queue stays, and so do the messages in both queues. A function with REDRIVE_DEAD_LETTER_QUEUE_URL still
sends letters there; only SQS stops moving messages.

Exit codes: 0 done, 1 failed or not confirmed, 2 wrong usage or input.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    which: WhichSource,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    wait(async {
        let (aws, source) = arguments.which.find().await?;
        let name = source.name();
        let Some(policy) = source.redrive_policy() else {
            return print_line(format!("{name}: no change: it has no dead-letter queue"));
        };
        let dead = queue_name(&policy.dead_letter_target_arn);
        let retention = span(source.retention());
        tell(format_args!(
            "warning: without a dead-letter queue, messages that always fail are received again and again until they expire, {retention} after they were sent"
        ));
        if arguments.consent.dry.run {
            return print_line(format!("{name}: messages would no longer go to {dead}"));
        }
        let question = format!("detach the dead-letter queue {dead} from {name}");
        let consequence =
            format!("Messages in both queues stay where they are. In {}.", aws.place(&source.arn));
        arguments.consent.confirm(&question, &consequence, "nothing was changed")?;
        set_policy(&aws, &source, "", false).await.or_failed()?;
        print_line(format!("{name}: messages no longer go to {dead}; {SETTLES}"))
    })
}
