//! Which letters are held, and until when. Pure.

use std::collections::BTreeMap;
use std::time::Instant;

/// By message id, since a letter that is received again has a new handle, and the old one is worth nothing.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<Box<str>, Letter>);

#[derive(Debug)]
struct Letter {
    handle: Box<str>,
    until: Instant,
}

impl Held {
    pub(super) fn add(&mut self, id: &str, handle: &str, until: Instant) {
        self.0.insert(id.into(), Letter { handle: handle.into(), until });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn holds(&self, id: &str, now: Instant) -> bool {
        self.0.get(id).is_some_and(|letter| letter.until > now)
    }

    pub(super) fn handle(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(|letter| &*letter.handle)
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.0.keys().map(|id| String::from(&**id)).collect()
    }

    /// Ids and handles of these letters, which are held no longer.
    pub(super) fn take(&mut self, ids: &[String]) -> Vec<(String, String)> {
        let taken = ids.iter().filter_map(|id| self.0.remove_entry(id.as_str()));
        taken.map(|(id, letter)| (id.into(), letter.handle.into())).collect()
    }

    /// Those that will not be held any more at this time.
    pub(super) fn expiring(&self, by: Instant) -> Vec<(String, String)> {
        let expiring = self.0.iter().filter(|(_, letter)| letter.until <= by);
        expiring.map(|(id, letter)| (id.to_string(), letter.handle.to_string())).collect()
    }

    pub(super) fn extend(&mut self, ids: &[String], until: Instant) {
        for id in ids {
            if let Some(letter) = self.0.get_mut(id.as_str()) {
                letter.until = until;
            }
        }
    }
}
