//! Positions of queues in their list, by name, ARN or URL.

use std::collections::HashMap;

use super::super::{Arn, Queue};

/// Positions and ARNs, by the names of the queues.
pub(super) struct Places(HashMap<String, Vec<(usize, String)>>);

impl Places {
    pub(super) fn of(queues: &[Queue]) -> Self {
        let mut places: HashMap<String, Vec<_>> = HashMap::new();
        for (at, queue) in queues.iter().enumerate() {
            places.entry(queue.name().to_owned()).or_default().push((at, queue.arn.clone()));
        }
        Self(places)
    }

    /// Returns the queues at a URL or an ARN, as far as their region and account are known.
    pub(super) fn at(&self, text: &str) -> impl Iterator<Item = usize> {
        let named = Arn::of_queue_url(text).or_else(|| Arn::parse(text));
        let same = named.and_then(|named| Some((named, self.0.get(named.rest)?)));
        let is_it = |named: Arn<'_>, own: &str| Arn::parse(own).is_some_and(|own| named.may_be(&own));
        same.into_iter().flat_map(move |(named, all)| {
            all.iter().filter(move |(_, own)| is_it(named, own)).map(|(at, _)| *at)
        })
    }

    /// Returns the queues of a name.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = usize> {
        self.0.get(name).into_iter().flatten().map(|(at, _)| *at)
    }
}
