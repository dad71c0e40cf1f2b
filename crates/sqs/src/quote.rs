//! Quotes text of others in errors and logs.

use std::borrow::Cow;
use std::fmt;

/// Most characters of a value that are quoted.
const QUOTED: usize = 64;

/// A value in quotes, escaped, for errors and logs. Of a longer value it shows the first 64 characters and the total number,
/// so that nobody else decides how long our lines are.
///
/// ```
/// use redrive_sqs::Quoted;
///
/// assert_eq!(Quoted("ten").to_string(), r#""ten""#);
/// let long = Quoted(&"a".repeat(700_000)).to_string();
/// assert!(long.starts_with("\"aaa") && long.ends_with("aaa…\" (700000 characters)"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(QUOTED) {
            None => write!(f, "{:?}", self.0),
            Some((end, _)) => {
                let (shown, all) = (format!("{}…", &self.0[..end]), self.0.chars().count());
                write!(f, "{shown:?} ({all} characters)")
            }
        }
    }
}

/// Cuts a text, such as a parser's error that quotes a long value, to `most` characters.
///
/// ```
/// assert_eq!(redrive_sqs::cut_to("unknown field", 7), "unknown…");
/// assert_eq!(redrive_sqs::cut_to("unknown", 7), "unknown");
/// ```
#[must_use]
pub fn cut_to(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Returns true for a character that is invisible, but acts on a terminal or changes how other characters are shown: the
/// control characters of ASCII and C1, and Unicode's formatting characters.
/// <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>
///
/// ```
/// assert!(['\n', '\u{1b}', '\u{9b}', '\u{202e}'].into_iter().all(redrive_sqs::is_invisible));
/// assert!(!['a', 'é', '漢'].into_iter().any(redrive_sqs::is_invisible));
/// ```
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_of_64_characters_is_whole_and_one_more_is_cut() {
        assert_eq!(Quoted(&"é".repeat(64)).to_string(), format!("\"{}\"", "é".repeat(64)));
        let cut = format!("\"{}…\" (65 characters)", "é".repeat(64));
        assert_eq!(Quoted(&"é".repeat(65)).to_string(), cut);
    }

    proptest! {
        #[test]
        fn no_value_makes_a_line_long_or_leaves_its_quotes(value in any::<String>(), times in 1..1_000_usize) {
            let quoted = Quoted(&value.repeat(times)).to_string();
            prop_assert!(quoted.chars().count() <= 64 * 10 + 40, "{quoted}");
            prop_assert!(!quoted.chars().any(char::is_control), "{quoted}");
        }
    }
}
