//! Values by names that senders choose. Hashes stand for the names, so that a long one takes no more memory.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::Time;

/// Names that are kept at most, so that endless names do not take endless memory.
pub(crate) const MOST: usize = 10_000;
/// Names that are forgotten together, so that this costs little for each.
const TOGETHER: usize = MOST / 16;

/// The key of the hashes. Each process has its own, so that a sender cannot find names with the same hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Secret(u64, u64);

impl Secret {
    pub const fn new(first: u64, second: u64) -> Self {
        Self(first, second)
    }

    fn hash(self, name: &str) -> NameHash {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        hasher.write(name.as_bytes());
        NameHash(hasher.finish128().as_u128())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The hash of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NameHash(u128);

/// A value for each of the latest names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ByName<V> {
    secret: Secret,
    known: BTreeMap<NameHash, V>,
}

impl<V> ByName<V> {
    pub(crate) const fn new(secret: Secret) -> Self {
        Self { secret, known: BTreeMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        // Most of the time none is known, and hashing takes time.
        if self.is_empty() { None } else { self.known.get(&self.secret.hash(name)) }
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.known.get_mut(&self.secret.hash(name))
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<V> {
        self.known.remove(&self.secret.hash(name))
    }

    /// Returns the value of a name, or a new one if the name is not known. If there are too many names, it forgets those that
    /// matter until the earliest times.
    pub(crate) fn get_or_insert(
        &mut self,
        name: &str,
        new: impl FnOnce() -> V,
        matters_until: impl Fn(&V) -> Time,
    ) -> &mut V {
        let hash = self.secret.hash(name);
        if self.known.len() >= MOST && !self.known.contains_key(&hash) {
            let mut order: Vec<_> =
                self.known.iter().map(|(hash, value)| (matters_until(value), *hash)).collect();
            let (first, _, _) = order.select_nth_unstable(TOGETHER);
            for (_, hash) in first {
                self.known.remove(hash);
            }
        }
        self.known.entry(hash).or_insert_with(new)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.known.values()
    }

    #[cfg(test)]
    pub(crate) fn each(&self) -> impl Iterator<Item = (NameHash, &V)> {
        self.known.iter().map(|(hash, value)| (*hash, value))
    }
}

#[cfg(test)]
impl Secret {
    pub const FOR_TESTS: Self = Self(1, 2);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_name_has_another_hash_in_another_process() {
        let [one, other] = [(1, 2), (1, 3)].map(|(first, second)| Secret::new(first, second));
        assert_eq!(one.hash("bank"), one.hash("bank"));
        assert!(one.hash("bank") != one.hash("bunk") && one.hash("bank") != other.hash("bank"));
        assert_eq!(format!("{one:?}"), "Secret");
    }

    #[test]
    fn names_beyond_the_most_replace_those_that_matter_least() {
        let mut names = ByName::new(Secret::FOR_TESTS);
        for second in 0..MOST as u64 {
            let value = Duration::from_secs(second);
            assert_eq!(names.get_or_insert(&second.to_string(), || value, |value| *value), &value);
        }
        assert_eq!((names.values().count(), names.get("0")), (MOST, Some(&Duration::ZERO)));
        *names.get_mut("0").unwrap() = Duration::MAX;
        names.get_or_insert("new", || Duration::ZERO, |value| *value);
        assert_eq!(names.values().count(), MOST - TOGETHER + 1);
        let is_known = [0, 1, TOGETHER, TOGETHER + 1].map(|name| names.get(&name.to_string()).is_some());
        assert_eq!(is_known, [true, false, false, true]);
        assert_eq!(names.remove("new"), Some(Duration::ZERO));
    }
}
