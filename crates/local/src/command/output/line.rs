//! A line of text for people. Pure.

use std::fmt::Display;

use anstream::adapter::strip_str;
use anstyle::Style;
use textwrap::{Options, WordSplitter, wrap};

use super::escape::escape;

/// A line in which only redrive's own styles act on a terminal.
///
/// It does not implement `Display`, so that no text which becomes a line already contains one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(String);

impl Line {
    pub fn styled(style: Style, text: impl Display) -> Self {
        match escape(&text.to_string()) {
            text if text.is_empty() => Self(text),
            text => Self(format!("{style}{text}{style:#}")),
        }
    }

    /// Appends a text.
    #[must_use]
    pub fn and(mut self, other: impl Into<Self>) -> Self {
        self.0 += &other.into().0;
        self
    }

    /// Splits a text into its lines.
    pub fn each_of(text: &str) -> impl Iterator<Item = Self> {
        text.split('\n').map(|line| Self::from(line.trim_end_matches('\r')))
    }

    /// Wraps the line at `columns`. The first part follows `first`, the others follow `rest`. Words and links stay whole.
    pub fn wrap(&self, columns: usize, first: &str, rest: &str) -> Vec<Self> {
        let options = Options::new(columns).initial_indent(first).subsequent_indent(rest);
        let options = options.break_words(false).word_splitter(WordSplitter::NoHyphenation);
        wrap(&self.0, options).into_iter().map(|line| Self(line.into_owned())).collect()
    }

    /// Wraps the line, and also breaks words that are longer than a line.
    pub fn fit(&self, columns: usize, first: &str, rest: &str) -> Vec<Self> {
        let options = Options::new(columns).initial_indent(first).subsequent_indent(rest);
        let options = options.word_splitter(WordSplitter::NoHyphenation);
        wrap(&self.0, options).into_iter().map(|line| Self(line.into_owned())).collect()
    }

    /// Returns the text without styles.
    pub fn plain(&self) -> String {
        strip_str(&self.0).to_string()
    }

    pub(super) fn with_styles(&self) -> &str {
        &self.0
    }
}

impl<T: Display> From<T> for Line {
    fn from(text: T) -> Self {
        Self(escape(&text.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;
    use proptest::prelude::*;
    use redrive_sqs::is_invisible;

    use super::*;

    const RED: Style = AnsiColor::Red.on_default();

    #[test]
    fn a_text_brings_no_style_and_no_line_of_its_own() {
        let line = Line::styled(RED, "a\x1b[32m").and(" b\nc").and(Line::styled(RED, ""));
        assert_eq!(line.plain(), "a\\u{1b}[32m b\\nc");
        assert_eq!(line.with_styles(), "\x1b[31ma\\u{1b}[32m\x1b[0m b\\nc");
        let lines: Vec<_> = Line::each_of("a\r\n\u{1b}b\n").map(|line| line.plain()).collect();
        assert_eq!(lines, ["a", "\\u{1b}b", ""]);
    }

    #[test]
    fn a_line_is_broken_between_words_and_keeps_its_styles() {
        let line = Line::from("The visibility-timeout of ").and(Line::styled(RED, "Orders")).and(" is 60 s.");
        let lines = line.wrap(30, "  why:  ", "        ");
        let lines: Vec<_> = lines.iter().map(Line::with_styles).collect();
        assert_eq!(
            lines,
            ["  why:  The visibility-timeout", "        of \u{1b}[31mOrders\u{1b}[0m is 60 s."]
        );
        assert_eq!(Line::from("a visibility").wrap(3, "", "").len(), 2);
        let lines = Line::from("a ").and(Line::styled(RED, "visibility")).fit(6, "", "  ");
        assert_eq!(lines.iter().map(Line::plain).collect::<Vec<_>>(), ["a visi", "  bili", "  ty"]);
    }

    proptest! {
        #[test]
        fn nothing_in_a_line_acts(one: String, other: String, columns in 1_usize..40) {
            let line = Line::from(&one).and(Line::styled(RED, &other));
            let lines = line.wrap(columns, "", "");
            prop_assert!(!lines.iter().chain([&line]).any(|line| line.plain().chars().any(is_invisible)));
            let styles = lines.iter().flat_map(|line| line.with_styles().split('\x1b').skip(1));
            prop_assert!(styles.into_iter().all(|style| style.starts_with("[31m") || style.starts_with("[0m")));
        }
    }
}
