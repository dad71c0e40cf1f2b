//! Which letters are held, and until when. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

/// By message id, since a letter that is received again has a new handle, and the old one is worth nothing.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<Box<str>, Letter>);

#[derive(Debug)]
struct Letter {
    handle: Box<str>,
    /// By the clock of holds.
    until: Duration,
}

impl Held {
    pub(super) fn add(&mut self, id: &str, handle: &str, until: Duration) {
        self.0.insert(id.into(), Letter { handle: handle.into(), until });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn holds(&self, id: &str, now: Duration) -> bool {
        self.0.get(id).is_some_and(|letter| letter.until > now)
    }

    pub(super) fn handle(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(|letter| &*letter.handle)
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// Ids and handles of all letters, which are held no longer.
    pub(super) fn take(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.0)
            .into_iter()
            .map(|(id, letter)| (id.into(), letter.handle.into()))
            .collect()
    }

    /// Those that will not be held any more at this time.
    pub(super) fn expiring(&self, by: Duration) -> Vec<(String, String)> {
        let expiring = self.0.iter().filter(|(_, letter)| letter.until <= by);
        expiring.map(|(id, letter)| (id.to_string(), letter.handle.to_string())).collect()
    }

    /// One that was not held any more at this time may be someone else's since, and is not held by an extension.
    pub(super) fn extend(&mut self, ids: &[String], since: Duration, until: Duration) {
        for id in ids {
            if let Some(letter) = self.0.get_mut(id.as_str()).filter(|letter| letter.until > since) {
                letter.until = until;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_that_ran_out_is_not_brought_back_by_an_extension() {
        let (began, second) = (Duration::from_secs(100), Duration::from_secs(1));
        let mut held = Held::default();
        held.add("late", "h", began + second);
        held.add("in-time", "h", began + 3 * second);
        let ids = ["late", "in-time"].map(str::to_owned);
        held.extend(&ids, began + 2 * second, began + 60 * second);
        let holds = ["late", "in-time"].map(|id| held.holds(id, began + 4 * second));
        assert_eq!(holds, [false, true]);
    }
}
