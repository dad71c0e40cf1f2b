//! Filter patterns, which select log events.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html>

mod json;
mod terms;

use json::Conditions;
use terms::Terms;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pattern {
    All,
    Terms(Terms),
    Json(Conditions),
}

impl Pattern {
    /// # Errors
    /// Returns a text that says why the pattern is wrong, or not supported here.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.chars().next() {
            None => Ok(Self::All),
            Some('{') => json::parse(text).map(Self::Json),
            Some('[') => Err(unknown("space-delimited patterns ([...])")),
            Some('%') => Err(unknown("regular expressions (%...%)")),
            Some(_) => terms::parse(text).map(Self::Terms),
        }
    }

    pub(super) fn matches(&self, message: &str) -> bool {
        match self {
            Self::All => true,
            Self::Terms(terms) => terms.match_message(message),
            Self::Json(conditions) => conditions.match_message(message),
        }
    }
}

fn unknown(what: &str) -> String {
    format!("redrive-local does not support {what} in filter patterns")
}

/// Splits a quoted string from the beginning. A backslash escapes the next character.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((place, char)) = chars.next() {
        match char {
            '"' => return Ok((value, &text[place + 1..])),
            '\\' => value.extend(chars.next().map(|(_, char)| char)),
            char => value.push(char),
        }
    }
    Err("Invalid filter pattern: a quotation mark is missing".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_wants_everything_and_what_is_not_known_is_named() {
        assert!(Pattern::parse(" ").unwrap().matches("tea"));
        for (pattern, word) in [("[ip, user]", "space-delimited"), ("%tea|milk%", "regular expressions")] {
            let error = Pattern::parse(pattern).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_understood_or_refused(pattern in "[{\\[?\\-\"$.=&| a-c\\\\]{0,24}", message in ".{0,24}") {
            if let Ok(pattern) = Pattern::parse(&pattern) {
                pattern.matches(&message);
            }
        }

        #[test]
        fn a_quoted_text_matches_what_contains_it(text in "[a-z \"\\\\{}\\[\\]-]{1,12}", around in ".{0,8}") {
            let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
            let pattern = Pattern::parse(&quoted).unwrap();
            let message = format!("{around}{text}{around}");
            prop_assert!(pattern.matches(&message));
        }
    }
}
