//! What could not be looked at, told in one line for each reason.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::{Doubtful, Resolver, Resource};

/// So many are named of those that have the same reason.
const NAMED: usize = 3;

/// What could not be looked at of one part of a template, each once.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<(Vec<Note>, HashSet<Note>)>);

/// Something that was not looked at, in words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Note {
    /// The logical id of the resource that it is about, or of one of its events: `Work.Queue`.
    pub(super) id: String,
    what: String,
    /// Empty where that says all.
    why: String,
}

impl Notes {
    pub(super) fn add(&self, id: &str, what: impl Into<String>, why: impl Into<String>) {
        let note = Note { id: id.to_owned(), what: what.into(), why: why.into() };
        let (notes, known) = &mut *self.0.borrow_mut();
        if known.insert(note.clone()) {
            notes.push(note);
        }
    }

    /// The resources of some kinds, with a note for each that may not exist.
    pub(super) fn resources(&self, resolver: &Resolver<'_>, kinds: &[&str]) -> Vec<Resource> {
        let (resources, doubtful) = resolver.resources(kinds);
        self.add_all(&doubtful);
        resources
    }

    pub(super) fn add_all(&self, doubtful: &[Doubtful]) {
        doubtful.iter().for_each(|it| self.add(&it.id, &it.id, &it.why.message));
    }

    pub(super) fn into_notes(self) -> Vec<Note> {
        self.0.into_inner().0
    }
}

/// A line for each reason, in the order in which they came up.
pub(super) fn lines(notes: &[Note]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for Note { what, why, .. } in notes {
        match places.get(why.as_str()).filter(|_| !why.is_empty()) {
            Some(at) => reasons[*at].1.push(what),
            None => {
                places.insert(why, reasons.len());
                reasons.push((why, vec![what]));
            }
        }
    }
    reasons.iter().map(|(why, all)| line(why, all)).collect()
}

fn line(why: &str, all: &[&str]) -> String {
    let what = match all {
        [one] => (*one).to_owned(),
        [first @ .., last] if all.len() <= NAMED => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", all[..NAMED - 1].join(", "), all.len() + 1 - NAMED),
    };
    if why.is_empty() { what } else { format!("{what}: {why}") }
}
