//! Quotes values for a shell. Pure.

use redrive_sqs::is_invisible;

/// Returns the value unchanged if a shell keeps it so, else in quotes. Characters that a terminal would not show become
/// escapes:
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_04>.
#[must_use]
pub fn word(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+,".contains(c);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => quoted(value),
    }
}

fn quoted(value: &str) -> String {
    if !value.chars().any(is_invisible) {
        return format!("'{}'", value.replace('\'', r"'\''"));
    }
    let escaped = value.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_invisible(c) => c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        c => c.to_string(),
    });
    format!("$'{}'", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn in_bash(word: &str) -> String {
        let output = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output();
        String::from_utf8(output.expect("a shell runs").stdout).expect("it is text")
    }

    #[test]
    fn a_hostile_word_is_a_text_to_the_shell() {
        for value in [
            "orders",
            "",
            "it's",
            "'; exit 1; '",
            "$(exit 1)",
            "`exit 1`",
            "a\\'b",
            "!!",
            "a b\t*",
            "=ls",
            "~",
        ] {
            assert_eq!(in_bash(&word(value)), value);
        }
        assert_eq!(word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(word("a\u{1b}'b"), r"$'a\033\'b'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn any_text_is_what_the_shell_reads(value in "([^\0]|[\n\t\u{1b}\u{9b}\u{202e}'\\\\01]){0,20}") {
            let word = word(&value);
            prop_assert_eq!(&crate::command::output::escape(&word), &word, "a terminal shows it as it is");
            prop_assert_eq!(in_bash(&word), value);
        }
    }
}
