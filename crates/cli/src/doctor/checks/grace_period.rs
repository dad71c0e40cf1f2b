//! The time that a worker has between SIGTERM and SIGKILL.

use std::time::Duration;

use redrive_iac::deployment::Worker;

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;

/// redrive's default for `REDRIVE_DRAIN`.
const DRAIN: Duration = Duration::from_secs(25);
/// Time to settle the messages that handlers have finished, with a margin.
const SETTLING: Duration = Duration::from_secs(5);

pub(in crate::doctor) const GRACE_PERIOD_SHORT: Check = Check {
    code: "grace-period-short",
    level: Level::Error,
    title: "A worker is killed before it has finished",
    why: Redrive(
        "Finished messages are handled again after their visibility timeout, at every deployment. A worker that is \
         stopped lets its handlers run for REDRIVE_DRAIN seconds (25 by default) and then deletes the messages that \
         they finished. Here the platform kills it earlier.",
    ),
    link: "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    fix: Redrive(
        "Set StopTimeout (ECS; on Fargate at most 120) or terminationGracePeriodSeconds (Kubernetes) to at least \
         REDRIVE_DRAIN + 5, or lower REDRIVE_DRAIN.",
    ),
    find: |deployment| {
        let short = deployment.workers.iter().filter_map(|worker| {
            let (grace, drain) = (worker.grace_period?, drain(worker)?);
            let what = format!(
                "{} of {} is {} s, but REDRIVE_DRAIN ({} s) and 5 s for settling are {} s.",
                worker.platform.grace_property(),
                worker.id,
                grace.as_secs(),
                drain.as_secs_f64(),
                drain.saturating_add(SETTLING).as_secs_f64(),
            );
            (grace < drain.saturating_add(SETTLING)).then(|| Found::at(worker, what))
        });
        short.collect()
    },
};

/// Returns the time for handlers to finish, or `None` if it is unknown or invalid.
fn drain(worker: &Worker) -> Option<Duration> {
    let seconds = worker.process.variable("REDRIVE_DRAIN");
    seconds.map_or(DRAIN, |seconds| Duration::try_from_secs_f64(seconds.parse().ok()?).ok())
}
