//! Fits text of other people into columns, without control characters. Pure.

use unicode_width::UnicodeWidthChar;

use crate::output::push_escaped;

/// Escapes a text and cuts it to the columns, with an ellipsis if something is left out. Characters without a width, such as
/// accents, count from the fifth in a column on.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let mut line = String::new();
    let (mut used, mut fits) = (0, 0);
    for (index, c) in text.chars().enumerate() {
        let before = line.len();
        push_escaped(&mut line, c);
        used += width(&line[before..]);
        if used > columns || index >= columns.saturating_mul(4) {
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

/// Cuts a text that is escaped already.
pub(crate) fn recut(escaped: &str, columns: usize) -> String {
    if width(escaped) <= columns {
        return escaped.to_owned();
    }
    let (mut line, mut used) = (String::new(), 0);
    for c in escaped.chars() {
        used += c.width().unwrap_or(0);
        if used >= columns {
            break;
        }
        line.push(c);
    }
    if columns > 0 { line + "…" } else { line }
}

/// Pads a text with spaces to the columns.
pub(crate) fn padded(text: String, columns: usize) -> String {
    let missing = columns.saturating_sub(width(&text));
    text + &" ".repeat(missing)
}

/// Returns the columns of an escaped text.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_cut_to_the_columns_that_it_may_take() {
        for (columns, expected) in [(0, ""), (1, "…"), (4, "abc…"), (5, "abcde"), (usize::MAX, "abcde")] {
            assert_eq!(cut("abcde", columns), expected);
        }
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("ab\n", 4), "ab\\n");
        assert_eq!(cut("ab\nc", 4), "ab…");
    }

    #[test]
    fn escaped_text_is_not_escaped_again() {
        for (columns, expected) in [(0, ""), (1, "…"), (8, "a\\u{1b}…"), (9, "a\\u{1b}b漢")] {
            let columns = if columns == 9 { 10 } else { columns };
            assert_eq!(recut(&cut("a\u{1b}b漢", 20), columns), expected, "{columns}");
        }
        assert_eq!(recut("漢字漢字", 5), "漢字…");
    }

    proptest! {
        #[test]
        fn no_text_is_wider_than_allowed_or_keeps_a_control_character(text: String, columns in 0_usize..20) {
            let line = cut(&text, columns);
            prop_assert!(width(&line) <= columns);
            let endless = text + &"\u{301}".repeat(10_000);
            prop_assert!(cut(&endless, columns).len() <= 40 * columns);
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
