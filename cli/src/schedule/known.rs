//! What a template or a stack says of one queue, for a schedule. Pure.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use redrive::tools::{Retries, variable_of_queue};
use redrive_sqs::{MAX_RECEIVE_COUNT, Quoted};
use redrive_template::subject::{Function, Queue, Subject};

use super::flags::{Consumer, Known};

/// The queue that feeds a function: the only one, or that of this name.
///
/// # Errors
/// No queue feeds a function, none has this name, or several do and none is named.
pub(super) fn known(subject: &Subject, name: Option<&str>) -> anyhow::Result<Known> {
    let sources = sources(subject);
    let names = || sources.iter().map(|queue| queue.id.as_str()).collect::<Vec<_>>().join(", ");
    let queue = match (name, sources.as_slice()) {
        (_, []) => bail!("{}: use flags instead", none(subject)),
        (Some(name), sources) => {
            let is_meant = |queue: &&&Queue| {
                queue.name() == name || queue.id == name || queue.url == name || queue.arn == name
            };
            sources
                .iter()
                .find(is_meant)
                .with_context(|| format!("--queue is {}, allowed: {}", Quoted(name), names()))?
        }
        (None, [queue]) => queue,
        (None, _) => bail!("several queues feed functions in {} ({}): pass --queue", subject.name, names()),
    };
    of_queue(subject, queue)
}

/// Whether a queue feeds a function.
pub(super) fn has_source(subject: &Subject) -> bool {
    !sources(subject).is_empty()
}

fn sources(subject: &Subject) -> Vec<&Queue> {
    let fed = |queue: &&Queue| {
        subject.mappings.iter().any(|mapping| mapping.queue_arn.as_deref() == Some(queue.arn.as_str()))
    };
    subject.queues.iter().filter(fed).collect()
}

/// Why there is no queue to tell of.
fn none(subject: &Subject) -> String {
    let feeding = subject.mappings.iter().find_map(|mapping| Some((mapping, mapping.queue_arn.as_deref()?)));
    match feeding {
        Some((mapping, arn)) => format!("the queue of {}, {arn}, is not in {}", mapping.id, subject.name),
        None => match subject.unknown_queue() {
            Some(what) => format!("{what} in {}", subject.name),
            None => format!("no queue feeds a function in {}", subject.name),
        },
    }
}

/// What was not seen, as far as it matters here.
pub(super) fn notes(subject: &Subject) -> impl Iterator<Item = &String> {
    subject.not_seen.iter().filter(|note| note.contains("REDRIVE_") || note.contains("environment"))
}

fn of_queue(subject: &Subject, queue: &Queue) -> anyhow::Result<Known> {
    let unknown =
        |what: &str| format!("{what} of {} is unknown in {}: pass it as a flag", queue.id, subject.name);
    let policy = queue.redrive_policy.there();
    let max_receive_count = match policy {
        Some(policy) => {
            let count = policy.max_receive_count.with_context(|| unknown("maxReceiveCount"))?;
            if !MAX_RECEIVE_COUNT.contains(&count) {
                let (least, most) = (MAX_RECEIVE_COUNT.start(), MAX_RECEIVE_COUNT.end());
                bail!("maxReceiveCount of {} is {count}, allowed: {least} to {most}", queue.id);
            }
            Some(count)
        }
        None if queue.redrive_policy.is_absent() => None,
        None => bail!("{}", unknown("the redrive policy")),
    };
    let mut mappings = subject.mappings.iter();
    let mapping = mappings.find(|mapping| mapping.queue_arn.as_deref() == Some(queue.arn.as_str()));
    let function = mapping.and_then(|mapping| subject.function_of(mapping));
    let consumer = match function {
        Some(function) if function.may_run_redrive() => Consumer::Redrive,
        Some(function) => Consumer::Other(format!("{} does not run redrive", function.id)),
        None => Consumer::Other(format!("the function that it feeds is not in {}", subject.name)),
    };
    Ok(Known {
        name: queue.id.clone(),
        queue: queue.arn.clone(),
        max_receive_count,
        visibility_timeout: queue.visibility_timeout.with_context(|| unknown("the visibility timeout"))?,
        retention: queue.retention.with_context(|| unknown("the retention"))?,
        dead_letter_retention: subject.dead_letters_of(queue).and_then(|dead| dead.retention),
        consumer,
        variables: function.map(|function| variables(function, queue)).transpose()?.unwrap_or_default(),
    })
}

/// What a schedule depends on and `REDRIVE_QUEUES` may say of each queue.
const OF_QUEUE: [&str; 5] = [
    "REDRIVE_BACKOFF",
    "REDRIVE_DEAD_LETTER_QUEUE_URL",
    "REDRIVE_LAST_DELIVERY",
    "REDRIVE_MAX_RECEIVE_COUNT",
    "REDRIVE_VISIBILITY_TIMEOUT",
];

/// The variables as they hold for this queue, so that flags can take their place. What is not known is as if it were not
/// there.
fn variables(function: &Function, queue: &Queue) -> anyhow::Result<BTreeMap<String, String>> {
    let known = function.process.environment.iter().flatten();
    let known: BTreeMap<_, _> =
        known.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
    let mut own = known.clone();
    if own.remove("REDRIVE_QUEUES").is_some() {
        let variable = |name: &str| known.get(name).cloned();
        Retries::from_variables(&queue.arn, variable)?;
        for name in OF_QUEUE {
            match variable_of_queue(&queue.arn, name, variable) {
                Some(value) => own.insert(name.to_owned(), value),
                None => own.remove(name),
            };
        }
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use redrive_template::subject::{Mapping, PartialRedrivePolicy, Seen};

    fn queue(name: &str, policy: Seen<PartialRedrivePolicy>) -> Queue {
        Queue {
            arn: format!("arn:aws:sqs:eu-west-1:123456789012:{name}"),
            id: name.to_owned(),
            visibility_timeout: Some(Duration::from_secs(30)),
            retention: Some(Duration::from_secs(600)),
            redrive_policy: policy,
            ..Queue::default()
        }
    }

    fn fed(queues: Vec<Queue>) -> Subject {
        let mapping = |queue: &Queue| Mapping { queue_arn: Some(queue.arn.clone()), ..Mapping::default() };
        Subject {
            name: "t.yaml".to_owned(),
            mappings: queues.iter().map(mapping).collect(),
            queues,
            ..Subject::default()
        }
    }

    #[test]
    fn a_queue_is_named_where_there_are_several() {
        let one = fed(vec![queue("a", Seen::Absent)]);
        assert_eq!(known(&one, None).unwrap().max_receive_count, None);
        let two = fed(vec![queue("a", Seen::Absent), queue("b", Seen::Absent)]);
        assert!(known(&two, Some("b")).unwrap().queue.ends_with(":b"));
        for (subject, name, expected) in [
            (&two, None, "several queues feed functions in t.yaml (a, b): pass --queue"),
            (&two, Some("c"), "--queue is \"c\", allowed: a, b"),
            (&fed(vec![]), None, "no queue feeds a function in t.yaml: use flags instead"),
        ] {
            assert_eq!(known(subject, name).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let unknown = fed(vec![queue("a", Seen::Unknown)]);
        let error = known(&unknown, None).unwrap_err().to_string();
        assert_eq!(error, "the redrive policy of a is unknown in t.yaml: pass it as a flag");
    }
}
