//! Groups queues, functions and mappings: a queue with its dead-letter queue and its functions.

use std::collections::{BTreeMap, HashMap};

use redrive_iac::deployment::{Deployment, Function, Mapping, Queue};

/// Returns a subject for each group, named after a queue whose letters end elsewhere, if there is one.
pub(super) fn groups(
    queues: Vec<Queue>,
    functions: Vec<Function>,
    mappings: Vec<Mapping>,
) -> Vec<Deployment> {
    let mut joined = Joined::default();
    for queue in &queues {
        if let Some(target) = queue.dead_letter_target() {
            joined.join(&queue.arn, target);
        }
    }
    for mapping in &mappings {
        if let (Some(queue), Some(function)) = (&mapping.queue_arn, &mapping.function) {
            joined.join(queue, function);
        }
    }
    let mut groups: BTreeMap<String, Deployment> = BTreeMap::new();
    let first = |name: &str| joined.first(name).to_owned();
    // AWS lists and pages have no fixed order.
    for queue in sorted(queues, |queue| &queue.arn) {
        groups.entry(first(&queue.arn)).or_default().queues.push(queue);
    }
    for function in sorted(functions, |function| &function.name) {
        groups.entry(first(&function.name)).or_default().functions.push(function);
    }
    for mapping in sorted(mappings, |mapping| &mapping.id) {
        let name = mapping.queue_arn.clone().or_else(|| mapping.function.clone()).unwrap_or_default();
        groups.entry(first(&name)).or_default().mappings.push(mapping);
    }
    let named = |subject: Deployment| Deployment { name: name(&subject).to_owned(), ..subject };
    groups.into_values().map(named).collect()
}

fn sorted<T>(mut list: Vec<T>, key: impl Fn(&T) -> &String) -> Vec<T> {
    list.sort_by(|one, other| key(one).cmp(key(other)));
    list
}

fn name(subject: &Deployment) -> &str {
    let takes_letters =
        |queue: &&Queue| subject.queues.iter().any(|other| other.dead_letter_target() == Some(&queue.arn));
    let source = subject.queues.iter().find(|queue| !takes_letters(queue)).or(subject.queues.first());
    let function = || subject.functions.first().map(|function| function.name.as_str());
    let mapping = || subject.mappings.first().map(|mapping| mapping.id.as_str());
    source.map(Queue::name).or_else(function).or_else(mapping).unwrap_or_default()
}

/// Parent of each name in a union of groups. ARNs of queues and names of functions never collide.
#[derive(Debug, Default)]
struct Joined(HashMap<String, String>);

impl Joined {
    fn first<'a>(&'a self, mut name: &'a str) -> &'a str {
        while let Some(next) = self.0.get(name) {
            name = next;
        }
        name
    }

    fn join(&mut self, one: &str, other: &str) {
        let (one, other) = (self.first(one).to_owned(), self.first(other).to_owned());
        if one != other {
            self.0.insert(one, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redrive_iac::deployment::{PartialRedrivePolicy, Seen};

    fn arn(name: &str) -> String {
        format!("arn:aws:sqs:eu-west-1:123456789012:{name}")
    }

    fn queue(name: &str, target: Option<&str>) -> Queue {
        let policy =
            PartialRedrivePolicy { dead_letter_target_arn: target.map(arn), max_receive_count: Some(3) };
        let redrive_policy = target.map_or(Seen::Absent, |_| Seen::There(policy));
        Queue { arn: arn(name), redrive_policy, ..Queue::default() }
    }

    fn mapping(queue: &str, function: &str) -> Mapping {
        let (queue_arn, function) = (Some(arn(queue)), Some(function.to_owned()));
        Mapping { queue_arn, function, id: format!("{queue}-id"), ..Mapping::default() }
    }

    #[test]
    fn a_queue_is_grouped_with_its_functions_and_its_dead_letter_queue() {
        let queues = vec![
            queue("shared-dead", None),
            queue("b", Some("shared-dead")),
            queue("a", Some("shared-dead")),
            queue("own", Some("own")),
            queue("alone", None),
            queue("by-function-2", None),
            queue("by-function-1", None),
        ];
        let function = |name: &str| Function { name: name.to_owned(), ..Function::default() };
        let mappings =
            vec![mapping("by-function-1", "f"), mapping("by-function-2", "f"), mapping("unread", "g")];
        let groups = groups(queues, vec![function("g"), function("f")], mappings);
        let mut told: Vec<_> = groups
            .iter()
            .map(|it| {
                let queues: Vec<_> = it.queues.iter().map(Queue::name).collect();
                (it.name.as_str(), queues.join(" "), it.functions.len(), it.mappings.len())
            })
            .collect();
        told.sort_unstable();
        let expected = [
            ("a", "a b shared-dead", 0, 0),
            ("alone", "alone", 0, 0),
            ("by-function-1", "by-function-1 by-function-2", 1, 2),
            ("g", "", 1, 1),
            ("own", "own", 0, 0),
        ];
        assert_eq!(
            told,
            expected.map(|(name, queues, functions, mappings)| (
                name,
                queues.to_owned(),
                functions,
                mappings
            ))
        );
    }
}
