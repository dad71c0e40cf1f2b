//! A resource's properties, of which each may be there, absent, or not known.

use std::cell::RefCell;
use std::str::FromStr;
use std::time::Duration;

use super::super::Seen;
use crate::template::{Doubtful, Node, Resolver, Resource};

/// What could not be looked at, each once.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<Vec<String>>);

impl Notes {
    pub(super) fn add(&self, note: String) {
        let mut notes = self.0.borrow_mut();
        if !notes.contains(&note) {
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
        doubtful.iter().for_each(|it| self.add(format!("{}: {}", it.id, it.why.message)));
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.0.into_inner()
    }
}

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

    /// A property as it is, with a note if it is not known.
    pub(super) fn part(self, name: &str) -> Seen<Self> {
        let why = self.node.unknown();
        match (why, self.node.get(name)) {
            (None, None) => Seen::Absent,
            (None, Some(node)) if node.unknown().is_none() => Seen::There(Self { node, ..self }),
            (why, node) => {
                let why = why.or_else(|| node?.unknown()).map_or("", |why| &why.message);
                self.notes.add(format!("{name} of {}: {why}", self.id));
                Seen::Unknown
            }
        }
    }

    pub(super) fn text(self, name: &str) -> Seen<String> {
        self.parsed(name, "a text", |text| Some(text.to_owned()))
    }

    pub(super) fn number<T: FromStr>(self, name: &str) -> Seen<T> {
        self.parsed(name, "a number", |text| text.parse().ok())
    }

    pub(super) fn seconds(self, name: &str) -> Seen<Duration> {
        self.parsed(name, "a number of seconds", |text| text.parse().ok().map(Duration::from_secs))
    }

    pub(super) fn flag(self, name: &str) -> Seen<bool> {
        self.parsed(name, "true or false", |text| text.parse().ok())
    }

    /// The texts of a list, or the one text that stands for a list of one. What is no text is none, as is what is not
    /// known.
    pub(super) fn texts(self, name: &str) -> Vec<Option<String>> {
        let part = match self.part(name) {
            Seen::There(part) => part,
            Seen::Absent => return Vec::new(),
            Seen::Unknown => return vec![None],
        };
        let text = |item: &Node| {
            if let Some(why) = item.unknown() {
                self.notes.add(format!("{name} of {}: {}", self.id, why.message));
            }
            item.as_text().map(str::to_owned)
        };
        part.items().iter().map(text).collect()
    }

    /// The items of a list, or the one that stands for a list of one.
    pub(super) fn items(self) -> &'a [Node] {
        self.node.as_list().unwrap_or(std::slice::from_ref(self.node))
    }

    fn parsed<T>(self, name: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Seen<T> {
        let part = match self.part(name) {
            Seen::There(part) => part,
            Seen::Absent => return Seen::Absent,
            Seen::Unknown => return Seen::Unknown,
        };
        match part.node.as_text().and_then(parse) {
            Some(value) => Seen::There(value),
            None => {
                self.notes.add(format!("{name} of {} is not {expected}", self.id));
                Seen::Unknown
            }
        }
    }
}
