//! Patterns of terms: `a "b c"` requires both, `?a ?b` at least one of them, `-a` excludes a term.

use super::quoted;

/// Terms, which are case-sensitive and also match inside words.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::logs) struct Terms {
    all: Vec<String>,
    any: Vec<String>,
    none: Vec<String>,
}

pub(super) fn parse(text: &str) -> Result<Terms, String> {
    let mut terms = Terms::default();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let list = match first {
            '?' => &mut terms.any,
            '-' => &mut terms.none,
            _ => &mut terms.all,
        };
        if matches!(first, '?' | '-') {
            rest = &rest[1..];
        }
        let (term, after) = if rest.starts_with('"') { quoted(rest)? } else { word(rest)? };
        if term.is_empty() {
            return Err(format!("Invalid filter pattern: a term is empty in {text}"));
        }
        list.push(term);
        rest = after.trim_start();
    }
    // AWS ignores optional terms beside others:
    // <https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html>
    if !(terms.all.is_empty() && terms.none.is_empty()) {
        terms.any.clear();
    }
    Ok(terms)
}

/// Splits a term from the beginning. Characters other than letters, digits and underscores must be quoted.
fn word(text: &str) -> Result<(String, &str), String> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    match word.chars().find(|char| !char.is_alphanumeric() && *char != '_') {
        Some(char) => Err(format!("Invalid character(s) in term '{char}'")),
        None => Ok((word.to_owned(), rest)),
    }
}

impl Terms {
    pub(super) fn match_message(&self, message: &str) -> bool {
        let has = |term: &String| message.contains(term.as_str());
        self.all.iter().all(has)
            && !self.none.iter().any(has)
            && (self.any.is_empty() || self.any.iter().any(has))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;

    #[test]
    fn terms_are_wanted_together_one_of_them_or_not() {
        for (pattern, message, wanted) in [
            ("ERROR", "[ERROR 400] BAD REQUEST", true),
            ("ERROR", "[error 400] bad request", false),
            ("ERROR REQUEST", "[ERROR 400] BAD REQUEST", true),
            ("ERROR TIMEOUT", "[ERROR 400] BAD REQUEST", false),
            ("?ERROR ?WARN", "[WARN] tea", true),
            ("?ERROR ?WARN", "[INFO] tea", false),
            ("ERROR -EXIT", "[ERROR] tea", true),
            ("ERROR -EXIT", "[ERROR] EXIT", false),
            ("-ERROR", "[INFO] tea", true),
            ("\"BAD REQUEST\"", "[ERROR 400] BAD REQUEST", true),
            ("\"BAD  REQUEST\"", "[ERROR 400] BAD REQUEST", false),
            ("-\"a-b\"", "a-b", false),
            ("?\"a-b\" ?\"c-d\"", "c-d", true),
            // Optional terms are ignored if there are other terms.
            ("?ERROR REQUEST", "REQUEST", true),
        ] {
            assert_eq!(Pattern::parse(pattern).unwrap().matches(message), wanted, "{pattern} on {message}");
        }
    }

    #[test]
    fn an_unquoted_special_character_is_refused() {
        assert_eq!(Pattern::parse("a-b").unwrap_err(), "Invalid character(s) in term '-'");
        assert_eq!(Pattern::parse("tea ?Status: x").unwrap_err(), "Invalid character(s) in term ':'");
        assert!(Pattern::parse("\"tea").is_err());
        assert!(Pattern::parse("-").is_err());
    }
}
