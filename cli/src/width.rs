//! How wide a text may be. Pure but for the look at the terminal.

use console::Term;
use textwrap::{Options, WordSplitter, fill};

/// What programs may expect of a page.
const PAGE: usize = 80;

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// With so many columns.
    Terminal(usize),
    /// Where a sentence stays one line, so that programs find it.
    Elsewhere,
}

impl Width {
    pub(crate) fn of(stream: &Term) -> Self {
        stream.size_checked().map_or(Self::Elsewhere, |(_, columns)| Self::Terminal(columns.into()))
    }

    pub(crate) fn columns(self) -> usize {
        match self {
            Self::Terminal(columns) => columns,
            Self::Elsewhere => PAGE,
        }
    }

    /// A sentence after `first`, and after `rest` what of it does not fit into the first line. Words and links stay whole.
    pub(crate) fn wrap(self, first: &str, rest: &str, sentence: &str) -> String {
        match self {
            Self::Elsewhere => format!("{first}{sentence}"),
            Self::Terminal(columns) => {
                let options = Options::new(columns).initial_indent(first).subsequent_indent(rest);
                fill(sentence, options.break_words(false).word_splitter(WordSplitter::NoHyphenation))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_wrapped_on_a_terminal_only_and_keeps_its_words() {
        let sentence = "The visibility-timeout of \u{1b}[1mOrders\u{1b}[0m is 60 s.";
        assert_eq!(Width::Elsewhere.wrap("  why:  ", "        ", sentence), format!("  why:  {sentence}"));
        assert_eq!(
            Width::Terminal(30).wrap("  why:  ", "        ", sentence),
            "  why:  The visibility-timeout\n        of \u{1b}[1mOrders\u{1b}[0m is 60 s."
        );
        assert_eq!(Width::Terminal(3).wrap("", "", "a visibility"), "a\nvisibility");
    }
}
