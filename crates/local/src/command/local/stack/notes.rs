//! Notes on parts that are left out, with one line for each reason. Pure.

use std::collections::HashMap;

/// Notes in the order in which their reasons were added.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<Note>,
    /// Positions by the words for a single name.
    places: HashMap<[String; 2], usize>,
}

#[derive(Debug)]
struct Note {
    one: [String; 2],
    several: [String; 2],
    names: Vec<String>,
}

impl Notes {
    /// Adds a name, with the words before and after it, each for one name and for several.
    pub(super) fn add(&mut self, before: [&str; 2], name: &str, after: [&str; 2]) {
        let [one, several] = [0, 1].map(|count| [before[count].to_owned(), after[count].to_owned()]);
        let place = *self.places.entry(one.clone()).or_insert(self.notes.len());
        if place == self.notes.len() {
            self.notes.push(Note { one, several, names: Vec::new() });
        }
        self.notes[place].names.push(name.to_owned());
    }

    pub(super) fn lines(self) -> Vec<String> {
        let line = |Note { one, several, names }: Note| {
            let [before, after] = if names.len() == 1 { one } else { several };
            format!("{before}{}{after}", names.join(", "))
        };
        self.notes.into_iter().map(line).collect()
    }
}
