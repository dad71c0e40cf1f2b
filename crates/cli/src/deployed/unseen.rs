//! Notes on parts that could not be read, and limits for long lists.

use std::collections::HashMap;

/// Notes, each once.
#[derive(Debug, Default)]
pub(crate) struct Unseen(pub(crate) Vec<String>);

impl Unseen {
    pub(crate) fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Returns the value, or adds a note why it could not be read.
    pub(crate) fn or_note<T>(&mut self, what: &str, read: anyhow::Result<T>) -> Option<T> {
        read.map_err(|error| self.add(format!("{what}: {error:#}"))).ok()
    }

    /// Adds the notes of many resources. Notes that differ only in the name become the first one, with the number of others.
    pub(crate) fn fold(&mut self, parts: impl IntoIterator<Item = (String, Self)>) {
        let mut notes: Vec<(String, usize)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (name, Self(own)) in parts {
            for note in own {
                let place = *places.entry(note.replace(&name, "\0")).or_insert(notes.len());
                match notes.get_mut(place) {
                    Some((_, others)) => *others += 1,
                    None => notes.push((note, 0)),
                }
            }
        }
        for (note, others) in notes {
            self.add(match others {
                0 => note,
                1 => format!("{note}; and 1 other for the same reason"),
                others => format!("{note}; and {others} others for the same reason"),
            });
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub(crate) pages: usize,
    /// Requested entries. AWS may return fewer.
    pub(crate) on_a_page: i32,
}

impl Most {
    /// Reads the first pages, and whether there are more.
    pub(crate) async fn read<T, E>(
        self,
        mut next: impl AsyncFnMut() -> Option<Result<T, E>>,
    ) -> Result<(Vec<T>, bool), E> {
        let mut pages = Vec::new();
        while let Some(page) = next().await {
            if pages.len() == self.pages {
                return Ok((pages, true));
            }
            pages.push(page?);
        }
        Ok((pages, false))
    }

    /// Returns a note on the rest of the list.
    pub(crate) fn note(self, what: &str) -> String {
        format!("{what}: only the first {} pages were read", self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_differ_only_in_a_name_are_printed_once() {
        let denied = |name: &str| (name.to_owned(), Unseen(vec![format!("{name}: no right on arn:{name}")]));
        let other = ("c".to_owned(), Unseen(vec!["c: gone".to_owned()]));
        let mut unseen = Unseen::default();
        unseen.fold([denied("one"), denied("two"), other, denied("three")]);
        assert_eq!(unseen.0, ["one: no right on arn:one; and 2 others for the same reason", "c: gone"]);
    }
}
