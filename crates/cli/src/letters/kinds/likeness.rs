//! Finds the common part of errors: it masks numbers and ids in each, and leaves out words that differ between many errors.
//! Pure.

use std::cmp::Ordering;

/// Most characters and pieces of an error that are compared.
const CHARACTERS: usize = 300;
const PIECES: usize = 60;

const SEPARATORS: &str = "\"'`,:;()[]{}<>=";
const GAP: char = '…';

/// An error in pieces. `order A-17 costs 450 cents` and `order B-2 costs 1 cents` have equal outlines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Outline(Vec<Piece>);

/// A word with the separators behind it.
#[derive(Debug, Clone)]
struct Piece {
    /// The word with `#` for parts with a digit.
    masked: String,
    /// The exact word, if it is the same in all errors so far.
    text: Option<String>,
}

impl Outline {
    pub(super) fn of(error: &str) -> Self {
        let end = error.char_indices().nth(CHARACTERS).map_or(error.len(), |(end, _)| end);
        let mut pieces: Vec<Piece> = Vec::new();
        for mut piece in pieces_of(&error[..end]) {
            // `1m 2s`, `1, 2, 3` and `12:50:01` are one number each.
            let is_number = |last: &Piece| matches!(last.masked.as_str(), "# " | "#," | "#, " | "#:");
            if piece.masked.starts_with('#')
                && let Some(last) = pieces.pop_if(|last| is_number(last))
            {
                piece.text = last.text.zip(piece.text).map(|(last, text)| last + &text);
            }
            pieces.push(piece);
            if pieces.len() == PIECES {
                break;
            }
        }
        // Makes the last word equal to the same word in the middle.
        if let Some(last) = pieces.last_mut() {
            last.push(" ");
        }
        Self(pieces)
    }

    pub(super) fn text(&self) -> String {
        let pieces = self.0.iter().map(|piece| piece.text.as_deref().unwrap_or(&piece.masked));
        pieces.collect::<String>().trim_end().to_owned()
    }

    /// Returns true if the other error is equal, or has the pieces between the gaps of this outline in the same order.
    pub(super) fn describes(&self, other: &Self) -> bool {
        if !self.0.iter().any(Piece::is_gap) {
            return self == other;
        }
        let is_met = |ours: Option<&Piece>, theirs| ours.is_none_or(Piece::is_gap) || ours == theirs;
        let mut theirs = other.0.iter();
        is_met(self.0.first(), other.0.first())
            && is_met(self.0.last(), other.0.last())
            && self.0.iter().filter(|piece| !piece.is_gap()).all(|ours| theirs.any(|piece| piece == ours))
    }

    /// Returns true if two errors are mostly equal.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        10 * self.meet(other).fixed() >= 3 * (self.0.len() + other.0.len())
    }

    /// Counts the pieces that are not gaps.
    pub(super) fn fixed(&self) -> usize {
        self.0.iter().filter(|piece| !piece.is_gap()).count()
    }

    pub(super) fn pieces(&self) -> usize {
        self.0.len()
    }

    /// Returns the longest sequence of pieces that both have in this order, with gaps for all others.
    pub(super) fn meet(&self, other: &Self) -> Self {
        let (ours, theirs) = (&self.0, &other.0);
        if ours == theirs {
            return Self(ours.iter().zip(theirs).map(|(ours, theirs)| ours.meet(theirs)).collect());
        }
        let same = |i: usize, j: usize| ours[i] == theirs[j] && !ours[i].is_gap();
        let mut longest = vec![vec![0_usize; theirs.len() + 1]; ours.len() + 1];
        for i in (0..ours.len()).rev() {
            for j in (0..theirs.len()).rev() {
                longest[i][j] = match same(i, j) {
                    true => longest[i + 1][j + 1] + 1,
                    false => longest[i + 1][j].max(longest[i][j + 1]),
                };
            }
        }
        let (mut i, mut j, mut met, mut skipped) = (0, 0, Vec::new(), None);
        while i < ours.len() || j < theirs.len() {
            if i < ours.len() && j < theirs.len() && same(i, j) {
                met.extend(skipped.take());
                met.push(ours[i].meet(&theirs[j]));
                (i, j) = (i + 1, j + 1);
            } else if i < ours.len() && (j == theirs.len() || longest[i + 1][j] >= longest[i][j + 1]) {
                skipped = Some(ours[i].gap());
                i += 1;
            } else {
                skipped.get_or_insert_with(|| theirs[j].gap());
                j += 1;
            }
        }
        met.extend(skipped);
        Self(met)
    }
}

impl Piece {
    fn new(word: &str, separators: &str) -> Self {
        let masked = format!("{}{separators}", masked(word));
        Self { masked, text: Some(format!("{word}{separators}")) }
    }

    fn push(&mut self, separators: &str) {
        self.masked.push_str(separators);
        self.text.iter_mut().for_each(|text| text.push_str(separators));
    }

    fn meet(&self, other: &Self) -> Self {
        Self { masked: self.masked.clone(), text: self.text.clone().filter(|_| self.text == other.text) }
    }

    fn is_gap(&self) -> bool {
        self.masked.starts_with(GAP)
    }

    /// Returns a gap with the separators after the word.
    fn gap(&self) -> Self {
        let word = self.masked.trim_end_matches(|c| is_separator(c) || c == '/');
        Self { masked: format!("{GAP}{}", &self.masked[word.len()..]), text: None }
    }
}

/// Pieces are equal if their masked words are.
impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.masked == other.masked
    }
}

impl Eq for Piece {}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Piece {
    fn cmp(&self, other: &Self) -> Ordering {
        self.masked.cmp(&other.masked)
    }
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || SEPARATORS.contains(c)
}

fn pieces_of(error: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = error;
    while let Some((start, url)) = next_url(rest) {
        pieces.extend(words_of(&rest[..start]));
        pieces.extend(url_pieces(url));
        rest = &rest[start + url.len()..];
        let word = rest.find(|c| !is_separator(c)).unwrap_or(rest.len());
        if let Some(last) = pieces.last_mut() {
            last.push(&rest[..word]);
            rest = &rest[word..];
        }
    }
    pieces.extend(words_of(rest));
    pieces
}

/// Finds the next URL, with its position.
fn next_url(text: &str) -> Option<(usize, &str)> {
    let at = text.find("://")?;
    let scheme = text[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && !"+.-".contains(c));
    let start = scheme.map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
    let url = &text[start..];
    let ends = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>".contains(c);
    let end = url.find(ends).unwrap_or(url.len());
    Some((start, url[..end].trim_end_matches([':', '.'])))
}

/// Returns the server without a user's name and password, and the parts of the path.
fn url_pieces(url: &str) -> Vec<Piece> {
    let server = url.find("://").map_or(0, |scheme| scheme + 3);
    let path = url[server..].find(['/', '?', '#']).map_or(url.len(), |at| server + at);
    let (scheme, host) = (&url[..server], url[server..path].rsplit('@').next().unwrap_or_default());
    let query = url[path..].find(['?', '#']).map_or(url.len(), |at| path + at);
    let mut first = Piece { masked: format!("{scheme}{host}"), text: Some(format!("{scheme}{host}")) };
    let mut rest = Vec::new();
    for part in url[path..query].split_inclusive('/') {
        match part.strip_suffix('/') {
            Some("") if rest.is_empty() => first.push("/"),
            Some(word) => rest.push(Piece::new(word, "/")),
            None => rest.push(Piece::new(part, "")),
        }
    }
    if query < url.len() {
        let query = Piece { masked: "?#".to_owned(), text: Some(url[query..].to_owned()) };
        rest.push(query);
    }
    std::iter::once(first).chain(rest).collect()
}

fn words_of(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = end_of_word(rest);
        let after = rest[word..].find(|c| !is_separator(c)).map_or(rest.len(), |after| word + after);
        pieces.push(Piece::new(&rest[..word], &rest[word..after]));
        rest = &rest[after..];
    }
    pieces
}

/// Finds the end of a word. A comma between digits belongs to a number.
fn end_of_word(text: &str) -> usize {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let ends = |&(at, c): &(usize, char)| {
        let is_inside =
            c == ',' && is_digit(text[..at].chars().next_back()) && is_digit(text[at + 1..].chars().next());
        is_separator(c) && !is_inside
    };
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at)
}

fn masked(word: &str) -> &str {
    if word.chars().any(|c| c.is_ascii_digit()) && !is_host(word) { "#" } else { word }
}

/// Returns true for `dynamodb.eu-west-1.amazonaws.com`, but neither for `10.0.3.17` nor for `order-12.pdf`.
fn is_host(word: &str) -> bool {
    let is_label =
        |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let top = word.rsplit('.').next().unwrap_or_default();
    let has_name = top.len() >= 2 && top.chars().all(|c| c.is_ascii_alphabetic());
    has_name && word.matches('.').count() >= 2 && word.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the outline as text, with `#` for parts with a digit.
    fn outline(error: &str) -> String {
        let pieces = Outline::of(error).0.into_iter();
        Outline(pieces.map(|piece| Piece { text: None, ..piece }).collect()).text()
    }

    #[test]
    fn an_outline_keeps_the_words_and_drops_what_has_a_digit() {
        for (error, expected) in [
            ("", ""),
            ("card refused", "card refused"),
            ("order 7f3e-11 (tenant a1): no \"item 5\"", "order # (tenant #): no \"item #\""),
            ("é2: ü", "#: ü"),
            ("order A-1: 450 cents", "order #: # cents"),
            ("costs 1,234,567 cents", "costs # cents"),
            ("took 1m 2s, not 3s", "took #, not #"),
            ("lines [1, 2, 3] at 12:50:01", "lines [#] at #"),
            ("panicked at src/main.rs:12:5", "panicked at src/main.rs:#"),
        ] {
            assert_eq!(outline(error), expected);
        }
    }

    #[test]
    fn hosts_are_kept_and_what_differs_behind_them_is_not() {
        for (error, expected) in [
            (
                "https://api.bank.example/charges/8123: timed out",
                "https://api.bank.example/charges/#: timed out",
            ),
            ("(https://api2.bank.example:8443/v1/a?id=7)", "(https://api2.bank.example:8443/#/a?#)"),
            ("GET http://10.0.3.17:8080.", "GET http://10.0.3.17:8080."),
            ("postgres://app:s3cret@db1.internal/orders", "postgres://db1.internal/orders"),
            ("dynamodb.eu-west-1.amazonaws.com: refused", "dynamodb.eu-west-1.amazonaws.com: refused"),
            ("order-12.pdf from 10.0.3.17", "# from #"),
            ("é://x 1", "é://x #"),
            ("://", "://"),
        ] {
            assert_eq!(outline(error), expected);
        }
    }

    #[test]
    fn the_common_part_of_errors_has_gaps_for_different_names() {
        let meet = |one: &str, other: &str| Outline::of(one).meet(&Outline::of(other)).text();
        for (one, other, expected) in [
            (
                "customer Alice Smith has no address",
                "customer Bob has no address",
                "customer … has no address",
            ),
            ("no user \"alice\"", "no user \"bob\"", "no user \"…\""),
            (
                "https://bank.example/of/alice failed",
                "https://bank.example/of/bob failed",
                "https://bank.example/of/… failed",
            ),
            ("a b", "a b", "a b"),
            (
                "the customer Bob has no address",
                "the customer Eve has no address in order 7",
                "the customer … has no address …",
            ),
            ("GET /v1/orders/7: 503", "GET /v1/orders/8: 503", "GET #: 503"),
            (
                "https://bank.example/v1/of/7: 503",
                "https://bank.example/v1/of/8: 503",
                "https://bank.example/v1/of/#: 503",
            ),
        ] {
            assert_eq!(meet(one, other), expected);
            assert!(Outline::of(one).is_like(&Outline::of(other)), "{one} {other}");
            let met = Outline::of(one).meet(&Outline::of(other));
            assert!(met.describes(&Outline::of(one)) && met.describes(&Outline::of(other)));
        }
        assert!(!Outline::of("card refused").is_like(&Outline::of("card expired")));
        assert!(!Outline::of("timeout").is_like(&Outline::of("the call ended with a timeout")));
    }

    proptest! {
        #[test]
        fn any_two_errors_have_an_outline_in_common_that_is_no_longer(one in "\\PC{0,60}", other in "\\PC{0,60}") {
            let (one, other) = (Outline::of(&one), Outline::of(&other));
            prop_assert!(one.meet(&other).fixed() <= one.fixed().min(other.fixed()));
            prop_assert_eq!(&one.meet(&one), &one);
            prop_assert!(one.text().len() <= 5 * CHARACTERS);
        }

        #[test]
        fn words_without_digits_are_kept(error in "[a-zé ,.:/@()\"-]{0,60}") {
            let kept = error.contains("://") || outline(&error) == error.trim_end();
            prop_assert!(kept, "{}", outline(&error));
        }
    }
}
