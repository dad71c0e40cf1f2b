//! Asks before letters are sent or deleted.

use crate::ask::Consent;
use crate::aws::Aws;
use crate::counted::counted;
use crate::letters::{Foreseen, LetterRun, foresee};
use crate::problem::Problem;

const CONFIRMED: &str = "SQS has confirmed their messages: nothing is sent.";

/// Asks before a job, with the number of letters that it affects. Returns false if there is nothing to do.
///
/// # Errors
/// The user did not confirm, or the letters could not be counted.
pub(super) async fn confirm(
    aws: &Aws,
    job: &LetterRun,
    consent: Consent,
    question: impl Fn(&str, &str) -> String,
    [consequence, spared]: [&str; 2],
) -> Result<bool, Problem> {
    let (queue, visible) = (job.from.name(), job.from.visible());
    let (question, consequence) = if job.selection.is_all() && !job.has_already_sent() || !consent.asks() {
        (question(&job.selection.words(visible, queue), ""), consequence)
    } else {
        let Some(foreseen) = foresee(aws, job).await? else { return Ok(false) };
        let [letters, which] = job.selection.counted_words(foreseen, visible, queue);
        let sent = counted(usize::try_from(foreseen.already_sent).unwrap_or(usize::MAX), "letter");
        let sent = format!("{sent} that an earlier run sent");
        match foreseen {
            Foreseen { already_sent: 0, .. } => (question(&letters, &which), consequence),
            Foreseen { letters: 0, .. } => (format!("delete {sent} from {queue}"), CONFIRMED),
            Foreseen { .. } => (format!("{}, and delete {sent}", question(&letters, &which)), consequence),
        }
    };
    consent.confirm_in(&aws.place(&job.from.arn), &question, consequence, spared)?;
    Ok(true)
}
