//! Escapes invisible characters that act on terminals or readers. Pure.

use std::fmt::Write;

use redrive_sqs::is_invisible;

/// Returns the text on one line, with characters that act on terminals or readers escaped: `\n`, `\u{1b}`, `\u{202e}`.
pub fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        push_escaped(&mut line, c);
        line
    })
}

/// Appends one character, escaped if necessary.
pub fn push_escaped(line: &mut String, c: char) {
    if is_invisible(c) {
        // Writing to a String cannot fail.
        let _ = write!(line, "{}", c.escape_default());
    } else {
        line.push(c);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_act_on_a_terminal_are_escaped() {
        for (text, expected) in [
            ("plain é 漢 \\ \"", "plain é 漢 \\ \""),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("user\u{202e}gpj.exe", "user\\u{202e}gpj.exe"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_acts_and_what_does_not_stays_as_it_is(text: String, acting in "[\\x00-\\x1f\\x7f-\\x9f\u{200e}\u{202a}-\u{202e}\u{2066}-\u{2069}]{0,5}") {
            let escaped = escape(&format!("{acting}{text}"));
            prop_assert!(!escaped.chars().any(is_invisible));
            prop_assert!(!escaped.bytes().any(|byte| byte < b' ' || byte == 0x7f));
            prop_assert_eq!(escape(&escaped), escaped.clone());
            let harmless: String = text.chars().filter(|&c| !is_invisible(c)).collect();
            prop_assert_eq!(escape(&harmless), harmless);
        }
    }
}
