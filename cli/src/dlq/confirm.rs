//! The question before letters are sent or deleted.

use crate::ask::Consent;
use crate::aws::Aws;
use crate::letters::{Job, foresee};
use crate::problem::Problem;

/// Asks before a job, with the number of letters that it takes. Whether there is anything to do.
///
/// # Errors
/// It was not confirmed, or the letters could not be counted.
pub(super) async fn confirm(
    aws: &Aws,
    job: &Job,
    consent: Consent,
    question: impl Fn(&str, &str) -> String,
    [consequence, spared]: [&str; 2],
) -> Result<bool, Problem> {
    let [letters, which] = if job.selection.is_all() || !consent.asks() {
        [job.selection.words(job.from.visible(), job.from.name()), String::new()]
    } else {
        let Some(foreseen) = foresee(aws, job).await? else { return Ok(false) };
        job.selection.counted_words(foreseen, job.from.visible(), job.from.name())
    };
    consent.confirm_in(&aws.place(&job.from.arn), &question(&letters, &which), consequence, spared)?;
    Ok(true)
}
