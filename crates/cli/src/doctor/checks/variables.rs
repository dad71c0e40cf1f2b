//! Variables of a function or a worker that contradict its queue, or that redrive does not accept.

use redrive::tools::Retries;
use redrive_iac::deployment::{Arn, Deployment, IDEMPOTENCY_TABLE, Process, Queue};

use crate::counted::counted;
use crate::doctor::feed::{Consumer, ConsumerKind, Feed, redrive_consumers, redrive_feeds};
use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;
use crate::nearest::did_you_mean;

const PAGE: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html";
const VISIBILITY: &str =
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html";

const MAX_RECEIVE_COUNT: &str = "REDRIVE_MAX_RECEIVE_COUNT";
const DEAD_LETTER_URL: &str = "REDRIVE_DEAD_LETTER_QUEUE_URL";
const VISIBILITY_TIMEOUT: &str = "REDRIVE_VISIBILITY_TIMEOUT";

/// Returns all variables that redrive reads.
pub(super) fn known() -> Vec<&'static str> {
    redrive::tools::variables().chain([IDEMPOTENCY_TABLE]).collect()
}

/// Unknown variables to name per consumer. A stranger's file may have any number.
const MOST_UNKNOWN: usize = 20;

/// Variables of the Lambda layer alone.
const OF_LAYER: [&str; 2] = ["REDRIVE_BATCH", "REDRIVE_CLASSIFY"];

/// Returns true if a setting fits another queue that feeds the function, which `settings-shared` reports.
fn another_of(deployment: &Deployment, consumer: &Consumer<'_>, is_meant: impl Fn(&Queue) -> bool) -> bool {
    let ConsumerKind::Function(function) = consumer.kind else { return false };
    function.process.variable("REDRIVE_QUEUES").is_absent()
        && redrive_feeds(deployment).any(|feed| feed.function.name == function.name && is_meant(feed.source))
}

pub(in crate::doctor) const MAX_RECEIVE_COUNT_DIFFERS: Check = Check {
    code: "max-receive-count-differs",
    level: Level::Error,
    title: "The consumer and the queue disagree about the last delivery",
    why: Redrive(
        "If REDRIVE_MAX_RECEIVE_COUNT is too high, redrive delays the last delivery like any other, and SQS \
          moves the message without a note. If it is too low, redrive sends dead letters while deliveries are \
          left.",
    ),
    link: PAGE,
    fix: Redrive("Set REDRIVE_MAX_RECEIVE_COUNT and maxReceiveCount from the same parameter."),
    find: |deployment| {
        let differing =
            redrive_consumers(deployment).filter_map(|consumer @ Consumer { source, id, .. }| {
                let told: u32 = consumer.variable(MAX_RECEIVE_COUNT).there()?.parse().ok()?;
                let count = source.max_receive_count().filter(|count| *count != told)?;
                if another_of(deployment, &consumer, |queue| queue.max_receive_count() == Some(told)) {
                    return None;
                }
                let what = format!(
                    "{MAX_RECEIVE_COUNT} of {id} is {told}, but the maxReceiveCount of {} is {count}.",
                    source.id
                );
                Some(Found::at(consumer, what))
            });
        differing.collect()
    },
};

pub(in crate::doctor) const MAX_RECEIVE_COUNT_UNKNOWN: Check = Check {
    code: "max-receive-count-unknown",
    level: Level::Warning,
    title: "The function does not know which delivery is the last",
    why: Redrive(
        "A function that does not know the maximum receive count delays the last delivery too, so the message waits \
         for no reason before SQS moves it. The metric DeadLettered does not count the message, so the fast alarm \
         misses it.",
    ),
    link: PAGE,
    fix: Redrive(
        "Set REDRIVE_MAX_RECEIVE_COUNT to the maxReceiveCount, unless the code calls Consumer::max_receive_count.",
    ),
    find: |deployment| {
        let ignorant = redrive_feeds(deployment).filter_map(|feed @ Feed { function, source, .. }| {
            let (count, id) = (source.max_receive_count()?, &function.id);
            let what =
                format!("{id} has no {MAX_RECEIVE_COUNT}; the maxReceiveCount of {} is {count}.", source.id);
            feed.consumer().variable(MAX_RECEIVE_COUNT).is_absent().then(|| Found::at(function, what))
        });
        ignorant.collect()
    },
};

pub(in crate::doctor) const DEAD_LETTER_URL_DIFFERS: Check = Check {
    code: "dead-letter-url-differs",
    level: Level::Error,
    title: "Dead letters go to two queues",
    why: Redrive(
        "redrive sends rejected messages to the queue in REDRIVE_DEAD_LETTER_QUEUE_URL. SQS moves messages that run \
         out of deliveries to the queue in the redrive policy. If you watch one queue, you miss the letters in the \
         other.",
    ),
    link: PAGE,
    fix: Redrive(
        "Set REDRIVE_DEAD_LETTER_QUEUE_URL to the URL (!Ref) of the queue that deadLetterTargetArn names.",
    ),
    find: |deployment| {
        let differing =
            redrive_consumers(deployment).filter_map(|consumer @ Consumer { source, id, .. }| {
                let seen = consumer.variable(DEAD_LETTER_URL);
                let url = seen.there()?;
                let (told, target) = (Arn::of_queue_url(url)?, Arn::parse(source.dead_letter_target()?)?);
                let what = format!(
                    "{DEAD_LETTER_URL} of {id} is {url}, but the redrive policy of {} names {}.",
                    source.id, target.rest
                );
                // `dead-letters-return` reports a URL of the source itself.
                let is_told = |arn: &str| Arn::parse(arn).is_some_and(|target| told.may_be(&target));
                let differs = !told.may_be(&target)
                    && !source.may_be_at(url)
                    && !another_of(deployment, &consumer, |queue| {
                        queue.dead_letter_target().is_some_and(is_told)
                    });
                differs.then(|| Found::at(consumer, what))
            });
        differing.collect()
    },
};

pub(in crate::doctor) const DEAD_LETTER_URL_MISSING: Check = Check {
    code: "dead-letter-url-missing",
    level: Level::Warning,
    title: "The function does not know its dead-letter queue",
    why: Redrive(
        "redrive retries messages that cannot succeed (rejected, malformed, or with a panic in the handler) \
         until their deliveries are used up. On a FIFO queue their group waits. SQS then moves them without a \
         note of the cause.",
    ),
    link: PAGE,
    fix: Redrive(
        "Set REDRIVE_DEAD_LETTER_QUEUE_URL to the URL (!Ref) of the queue's dead-letter queue, unless the code calls \
           Consumer::dead_letter_queue_url.",
    ),
    find: |deployment| {
        let ignorant = redrive_feeds(deployment).filter_map(|feed @ Feed { function, source, .. }| {
            source.redrive_policy.there()?;
            let (id, source) = (&function.id, &source.id);
            let what = format!("{id} has no {DEAD_LETTER_URL}, but {source} has a dead-letter queue.");
            feed.consumer().variable(DEAD_LETTER_URL).is_absent().then(|| Found::at(function, what))
        });
        ignorant.collect()
    },
};

pub(in crate::doctor) const VISIBILITY_VARIABLE_DIFFERS: Check = Check {
    code: "visibility-variable-differs",
    level: Level::Warning,
    title: "The function and the queue disagree about the visibility timeout",
    why: Redrive(
        "Retries happen at other times than you configured. SQS hides a message for at most 12 hours after a \
         receive, so redrive limits its delays to 12 hours minus the queue's visibility timeout. If the variable is \
         too low, SQS rejects long delays; if it is too high, redrive shortens them.",
    ),
    link: VISIBILITY,
    fix: Redrive(
        "Set REDRIVE_VISIBILITY_TIMEOUT and the queue's VisibilityTimeout from the same value, for example \
         !Ref VisibilityTimeout.",
    ),
    find: |deployment| {
        let differing = redrive_feeds(deployment).filter_map(|feed @ Feed { function, source, .. }| {
            let told: f64 = feed.consumer().variable(VISIBILITY_TIMEOUT).there()?.parse().ok()?;
            let timeout = source.visibility_timeout.filter(|timeout| timeout.as_secs_f64() != told)?;
            let what = format!(
                "{VISIBILITY_TIMEOUT} of {} is {told}, but the visibility timeout of {} is {} s.",
                function.id,
                source.id,
                timeout.as_secs()
            );
            Some(Found::at(function, what))
        });
        differing.collect()
    },
};

pub(in crate::doctor) const SETTING_REFUSED: Check = Check {
    code: "setting-refused",
    level: Level::Error,
    title: "The consumer will not start",
    why: Redrive(
        "redrive rejects an invalid setting, and the process exits at startup. Each delivery to a function still counts: \
         after maxReceiveCount deliveries every message is a dead letter. A worker receives nothing.",
    ),
    link: PAGE,
    fix: Redrive("Set the variable to an allowed value; the reference lists them."),
    find: |deployment| {
        let of_functions = redrive_feeds(deployment).filter_map(|Feed { function, source, .. }| {
            let starts = retries(&function.process, &source.arn).and_then(|it| it.check_function());
            let error = starts.err()?;
            Some(Found::at(function, format!("{}: {error}.", function.id)))
        });
        let of_workers = deployment.workers.iter().filter_map(|worker| {
            let error =
                retries(&worker.process, worker.queue_arn.as_deref().or(worker.queue_url())?).err()?;
            Some(Found::at(worker, format!("{}: {error}.", worker.id)))
        });
        of_functions.chain(of_workers).collect()
    },
};

pub(in crate::doctor) const SETTING_UNKNOWN: Check = Check {
    code: "setting-unknown",
    level: Level::Warning,
    title: "A REDRIVE_ variable is unknown",
    why: Redrive(
        "redrive ignores a variable that it does not know and uses the default. Messages are then retried or \
         dead-lettered differently from what you configured.",
    ),
    link: "https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html",
    fix: Redrive("Correct the name of the variable; the reference lists all of them."),
    find: |deployment| {
        let functions = deployment.functions.iter().filter(|function| function.may_run_redrive());
        let of_functions = functions.flat_map(|function| {
            unknown(&function.process, &function.id).map(move |what| Found::at(function, what))
        });
        let of_workers = deployment
            .workers
            .iter()
            .flat_map(|worker| unknown(&worker.process, &worker.id).map(move |what| Found::at(worker, what)));
        of_functions.chain(of_workers).collect()
    },
};

/// Reads these variables as redrive does.
fn retries(process: &Process, queue: &str) -> Result<Retries, redrive::Error> {
    let variable = |name: &str| process.variable(name).there().map(|value| (*value).to_owned());
    Retries::from_variables(queue, variable)
}

fn unknown<'a>(process: &'a Process, id: &'a str) -> impl Iterator<Item = String> {
    let names = process.environment.iter().flat_map(|variables| variables.keys());
    let of_layer = if process.is_behind_layer() { &OF_LAYER[..] } else { &[] };
    let known = known();
    let is_known = |name: &str| known.contains(&name) || of_layer.contains(&name);
    let unknown: Vec<_> = names.filter(|name| name.starts_with("REDRIVE_") && !is_known(name)).collect();
    let more = unknown.len().saturating_sub(MOST_UNKNOWN);
    let more = (more > 0).then(|| format!("{id} sets {}.", counted(more, "more unknown variable")));
    let told = unknown.into_iter().take(MOST_UNKNOWN).map(move |name| {
        let meant = did_you_mean(name, known.iter().copied());
        format!("{id} sets the unknown variable {name}{}", if meant.is_empty() { "." } else { &meant })
    });
    told.chain(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_variables_are_those_of_the_reference() {
        let page = include_str!("../../../../../docs/reference.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("### REDRIVE_"));
        let mut rows: Vec<_> = rows.map(|rest| format!("REDRIVE_{rest}")).collect();
        rows.sort();
        let mut known = known();
        known.sort_unstable();
        assert_eq!(rows, known);
    }
}
