//! One ARN for each queue: a template may also name its own queues by literal ARNs.

use std::collections::{HashMap, HashSet};

use redrive_sqs::RedriveAllowPolicy;

use super::super::{Arn, Function, Mapping, Queue, Seen};

/// Replaces literal ARNs of queues by the ARNs that they have here, in which region and account may be unknown.
pub(super) fn unify(queues: &mut [Queue], functions: &mut [Function], mappings: &mut [Mapping]) {
    let known = QueueArns::of(queues.iter().map(|queue| queue.arn.clone()).collect());
    for queue in queues {
        if let Seen::There(policy) = &mut queue.redrive_policy {
            policy.dead_letter_target_arn.iter_mut().for_each(|arn| replace(arn, &known));
        }
        if let Seen::There(RedriveAllowPolicy::ByQueue(arns)) = &mut queue.redrive_allow_policy {
            arns.iter_mut().for_each(|arn| replace(arn, &known));
        }
    }
    for function in functions {
        function.asynchronous_dead_letters.iter_mut().for_each(|arn| replace(arn, &known));
    }
    for mapping in mappings {
        mapping.queue_arn.iter_mut().for_each(|arn| replace(arn, &known));
    }
}

/// ARNs of queues, also by the queues' names.
struct QueueArns {
    all: HashSet<String>,
    by_name: HashMap<String, Vec<String>>,
}

impl QueueArns {
    fn of(arns: Vec<String>) -> Self {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for arn in &arns {
            if let Some(Arn { rest, .. }) = Arn::parse(arn) {
                by_name.entry(rest.to_owned()).or_default().push(arn.clone());
            }
        }
        Self { all: arns.into_iter().collect(), by_name }
    }
}

fn replace(arn: &mut String, known: &QueueArns) {
    if known.all.contains(arn) {
        return;
    }
    let Some(named) = Arn::parse(arn) else { return };
    let same = |known: &&String| Arn::parse(known).is_some_and(|known| known.may_be(&named));
    if let Some(known) = known.by_name.get(named.rest).and_then(|all| all.iter().find(same)) {
        *arn = known.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_arn_is_that_of_the_queue_unless_it_is_elsewhere() {
        let literal = "arn:aws:sqs:eu-west-1:123456789012:orders";
        for (own, same) in [
            ("arn:aws:sqs:REGION:ACCOUNT:orders", true),
            ("arn:aws:sqs:eu-west-1:ACCOUNT:orders", true),
            ("arn:aws:sqs:eu-west-2:ACCOUNT:orders", false),
            ("arn:aws:sqs:REGION:999999999999:orders", false),
            ("arn:aws:sqs:REGION:ACCOUNT:others", false),
            ("arn:aws:sns:REGION:ACCOUNT:orders", false),
        ] {
            let mut queues = [Queue { arn: own.to_owned(), ..Queue::default() }];
            let mut mappings = [Mapping { queue_arn: Some(literal.to_owned()), ..Mapping::default() }];
            unify(&mut queues, &mut [], &mut mappings);
            let expected = if same { own } else { literal };
            assert_eq!(mappings[0].queue_arn.as_deref(), Some(expected));
        }
    }
}
