//! Text that somebody else wrote, for a terminal: nothing in it moves the cursor, changes colors or turns the direction
//! of reading. Pure.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// The whole text in one line, with what could steer a terminal as `\n`, `\u{1b}` and the like.
pub(crate) fn escape_terminal(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        push(&mut line, c);
        line
    })
}

/// The same for text of several lines, whose ends stay.
pub(crate) fn escape_terminal_lines(text: &str) -> String {
    text.split('\n').map(|line| escape_terminal(line.trim_end_matches('\r'))).collect::<Vec<_>>().join("\n")
}

/// As much of it as fits into so many columns, with an ellipsis where something is cut off.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let mut line = String::new();
    let (mut used, mut fits) = (0, 0);
    for c in text.chars() {
        let before = line.len();
        push(&mut line, c);
        used += width(&line[before..]);
        if used > columns {
            line.truncate(fits);
            if columns > 0 {
                line.push('…');
            }
            return line;
        }
        if used < columns {
            fits = line.len();
        }
    }
    line
}

/// The columns that an escaped text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

fn push(line: &mut String, c: char) {
    if steers(c) {
        // Writing to a String does not fail.
        let _ = write!(line, "{}", c.escape_default());
    } else {
        line.push(c);
    }
}

/// Control characters, and those that show nothing but change how others are shown.
/// <https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters>
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_could_steer_a_terminal_is_written_out() {
        for (text, expected) in [
            ("plain é 漢", "plain é 漢"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("user\u{202e}gpj.exe", "user\\u{202e}gpj.exe"),
        ] {
            assert_eq!(escape_terminal(text), expected);
        }
        assert_eq!(escape_terminal_lines("a\r\n\u{1b}b\n"), "a\n\\u{1b}b\n");
    }

    #[test]
    fn a_text_is_cut_to_the_columns_that_it_may_take() {
        for (columns, expected) in [(0, ""), (1, "…"), (4, "abc…"), (5, "abcde"), (9, "abcde")] {
            assert_eq!(cut("abcde", columns), expected);
        }
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("ab\n", 4), "ab\\n");
        assert_eq!(cut("ab\nc", 4), "ab…");
    }

    proptest! {
        #[test]
        fn no_text_is_wider_than_allowed_or_keeps_a_control_character(text: String, columns in 0_usize..20) {
            let line = cut(&text, columns);
            prop_assert!(width(&line) <= columns);
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
