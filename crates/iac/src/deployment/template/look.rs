//! Reads a resource's properties, each of which may be there, absent or unknown.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::time::Duration;

use super::super::{MayHold, NotRead, Seen};
use crate::{Doubtful, Node, Resolver, Resource, TRANSFORM, scalar};

/// Properties, or a part of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) node: &'a Node,
    /// The resource's logical id.
    pub(super) id: &'a str,
    pub(super) notes: &'a Notes,
}

impl<'a> Look<'a> {
    pub(super) fn at(resource: &'a Resource, notes: &'a Notes) -> Self {
        Self { node: &resource.properties, id: &resource.id, notes }
    }

    /// Returns a property as it is, with a note if it is unknown.
    pub(super) fn part(self, name: &str) -> Seen<Self> {
        let why = self.node.unknown();
        match (why, self.node.get(name)) {
            (None, None) if self.notes.has_macro => Seen::Unknown,
            (None, None) if self.node.get(TRANSFORM).is_some() => {
                self.notes.add(self.id, format!("what {TRANSFORM} adds to {}", self.id), EXPANDED);
                Seen::Unknown
            }
            (None, None) => Seen::Absent,
            (None, Some(node)) if node.unknown().is_none() => Seen::There(Self { node, ..self }),
            (why, node) => {
                let why = why.or_else(|| node?.unknown()).map_or("", |why| &why.message);
                self.note(name, why);
                Seen::Unknown
            }
        }
    }

    /// Notes that a property is unknown.
    pub(super) fn note(self, name: &str, why: &str) {
        self.notes.add(self.id, format!("{name} of {}", self.id), why);
    }

    pub(super) fn text(self, name: &str) -> Seen<String> {
        self.parsed(name, "a text", |text| Some(text.to_owned()))
    }

    pub(super) fn number<T: FromStr>(self, name: &str) -> Seen<T> {
        self.parsed(name, "a number", scalar::number)
    }

    pub(super) fn seconds(self, name: &str) -> Seen<Duration> {
        self.parsed(name, "a number of seconds", |text| scalar::number(text).map(Duration::from_secs))
    }

    pub(super) fn flag(self, name: &str) -> Seen<bool> {
        self.parsed(name, "true or false", scalar::flag)
    }

    /// Returns the texts of a list, or the one text that stands for a list of one. An item is `None` if it is unknown or not a text.
    pub(super) fn texts(self, name: &str) -> Vec<Option<String>> {
        let part = match self.part(name) {
            Seen::There(part) => part,
            Seen::Absent => return Vec::new(),
            Seen::Unknown => return vec![None],
        };
        let text = |item: &Node| {
            if let Some(why) = item.unknown() {
                self.note(name, &why.message);
            }
            item.as_text().map(str::to_owned)
        };
        part.items().iter().map(text).collect()
    }

    /// Returns the items of a list, or the one that stands for a list of one.
    pub(super) fn items(self) -> &'a [Node] {
        self.node.as_list().unwrap_or(std::slice::from_ref(self.node))
    }

    fn parsed<T>(self, name: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Seen<T> {
        self.part(name).and_then(|part| {
            let value = part.node.as_text().and_then(parse);
            if value.is_none() {
                self.notes.add(self.id, format!("{name} of {} is not {expected}", self.id), "");
            }
            value.map_or(Seen::Unknown, Seen::There)
        })
    }
}

/// Why the result of a macro is unknown.
pub(super) const EXPANDED: &str = "CloudFormation expands it only at deployment";

/// Parts to name that have the same reason.
const NAMED: usize = 3;

/// Parts of a template that could not be read, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Notes {
    all: RefCell<(Vec<Note>, HashSet<Note>)>,
    /// True if a macro may add to any part of the template.
    has_macro: bool,
    may_hold: MayHold,
}

/// A part that was not read, in words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Note {
    /// The logical id of the resource that it is about, or of one of its events: `Work.Queue`.
    pub(super) id: String,
    what: String,
    /// The reason. Empty if `what` says all.
    why: String,
    may_hold: MayHold,
}

impl Notes {
    /// Creates notes about parts that can hold this.
    pub(super) fn of(resolver: &Resolver<'_>, may_hold: MayHold) -> Self {
        Self { has_macro: !resolver.macros().is_empty(), may_hold, ..Self::default() }
    }

    pub(super) fn add(&self, id: &str, what: impl Into<String>, why: impl Into<String>) {
        let note = Note { id: id.to_owned(), what: what.into(), why: why.into(), may_hold: self.may_hold };
        let (notes, known) = &mut *self.all.borrow_mut();
        if known.insert(note.clone()) {
            notes.push(note);
        }
    }

    /// Returns the resources of some types, and adds a note for each that may not exist.
    pub(super) fn resources(&self, resolver: &Resolver<'_>, kinds: &[&str]) -> Vec<Resource> {
        let (resources, doubtful) = resolver.resources(kinds);
        self.add_all(&doubtful);
        resources
    }

    pub(super) fn add_all(&self, doubtful: &[Doubtful]) {
        doubtful.iter().for_each(|it| self.add(&it.id, &it.id, &it.why.message));
    }

    pub(super) fn into_notes(self) -> Vec<Note> {
        self.all.into_inner().0
    }
}

/// Returns a line for each reason, in the order of their first notes.
pub(super) fn lines(notes: &[Note]) -> Vec<NotRead> {
    let mut reasons: Vec<((&str, MayHold), Vec<&str>)> = Vec::new();
    let mut places: HashMap<(&str, MayHold), usize> = HashMap::new();
    for Note { what, why, may_hold, .. } in notes {
        let reason = (why.as_str(), *may_hold);
        match places.get(&reason).filter(|_| !why.is_empty()) {
            Some(at) => reasons[*at].1.push(what),
            None => {
                places.insert(reason, reasons.len());
                reasons.push((reason, vec![what]));
            }
        }
    }
    let mut seen = HashSet::new();
    let told = reasons.iter().map(|((why, may_hold), all)| NotRead::new(*may_hold, line(why, all)));
    told.filter(|it| seen.insert(it.what.clone())).collect()
}

fn line(why: &str, all: &[&str]) -> String {
    let what = match all {
        [one] => (*one).to_owned(),
        [first @ .., last] if all.len() <= NAMED => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", all[..NAMED - 1].join(", "), all.len() + 1 - NAMED),
    };
    if why.is_empty() { what } else { format!("{what}: {why}") }
}
