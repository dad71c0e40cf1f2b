//! Groups letters by error for the console's page. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::likeness::Outline;
use super::{ErrorKind, Reason, folded};

/// Most kinds of errors of a reason that stay apart even if they differ only in some words.
const APART: usize = 20;

/// Letters with the same reason and the same kind of error.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorGroup {
    pub(crate) reason: String,
    /// The common part of the errors, with `#` for numbers and `…` for words. Empty if no error is known.
    pub(crate) error: String,
    /// Indexes of the letters.
    pub(crate) letters: Vec<usize>,
}

/// Returns the groups, the largest first. Each letter, given by reason and error, is in one group.
pub(crate) fn groups(letters: &[(String, String)]) -> Vec<ErrorGroup> {
    let mut reasons: BTreeMap<&str, Reason> = BTreeMap::new();
    for (reason, error) in letters {
        let one = super::Group { count: 1, ..super::Group::default() };
        reasons.entry(reason).or_default().add(error, &one);
    }
    let kinds: BTreeMap<&str, Vec<ErrorKind>> =
        reasons.into_iter().map(|(name, reason)| (name, reason.apart())).collect();
    let mut groups: BTreeMap<(&str, usize), ErrorGroup> = BTreeMap::new();
    for (at, (reason, error)) in letters.iter().enumerate() {
        let (of_reason, outline) = (&kinds[reason.as_str()], Outline::of(error));
        let kind = of_reason.iter().position(|kind| kind.outline.describes(&outline));
        let group = groups.entry((reason, kind.unwrap_or(usize::MAX))).or_insert_with(|| ErrorGroup {
            reason: reason.clone(),
            error: kind.map_or("other errors".to_owned(), |kind| of_reason[kind].words("")),
            letters: vec![],
        });
        group.letters.push(at);
    }
    let mut groups: Vec<ErrorGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse(group.letters.len()));
    groups
}

impl Reason {
    fn apart(self) -> Vec<ErrorKind> {
        if self.kinds.len() > APART { folded(&self.kinds) } else { self.kinds }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn letter(reason: &str, error: &str) -> (String, String) {
        (reason.to_owned(), error.to_owned())
    }

    #[test]
    fn errors_that_differ_in_numbers_are_one_group() {
        let letters = [
            letter("malformed", ""),
            letter("failed", "order A-17: timeout after 30 s"),
            letter("failed", "no such customer"),
            letter("failed", "order B-2: timeout after 31 s"),
        ];
        let told: Vec<_> =
            groups(&letters).into_iter().map(|group| (group.reason, group.error, group.letters)).collect();
        let group = |reason: &str, error: &str, letters: &[usize]| {
            (reason.to_owned(), error.to_owned(), letters.to_vec())
        };
        assert_eq!(told[0], group("failed", "order #: timeout after # s", &[1, 3]));
        assert_eq!(told[1..], [group("failed", "no such customer", &[2]), group("malformed", "", &[0])]);
    }

    proptest! {
        #[test]
        fn each_letter_is_in_one_group(
            letters in prop::collection::vec(("[ab]", "(order|customer)? ?[a-d0-9]{0,3} ?(failed|[a-z]{1,4})"), 0..80),
        ) {
            let groups = groups(&letters);
            let mut all: Vec<usize> = groups.iter().flat_map(|group| group.letters.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..letters.len()).collect::<Vec<_>>());
            prop_assert!(groups.is_sorted_by_key(|group| Reverse(group.letters.len())));
            for group in &groups {
                prop_assert!(group.letters.iter().all(|at| letters[*at].0 == group.reason));
            }
        }
    }
}
