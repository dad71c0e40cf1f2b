//! The comments of a template, which are no part of what it says. Pure.

use granit_parser::{Event, Options, Parser};

/// A comment, where it begins, and whether something stands before it on its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// From 1.
    pub line: usize,
    /// From 0, in characters.
    pub column: usize,
    /// Without its `#`.
    pub text: String,
    pub is_behind: bool,
}

/// All comments, up to where the text is no YAML. What looks like one inside of a value is none.
pub fn comments(source: &str) -> Vec<Comment> {
    let mut options = Options::default();
    options.max_buffered_comment_events = source.len();
    let lines: Vec<&str> = source.lines().collect();
    let events = Parser::new_from_str_with_options(source, options).map_while(Result::ok);
    let comment = |(event, span): (Event<'_>, granit_parser::Span)| {
        let Event::Comment(text, _) = event else { return None };
        let (line, column) = (span.start.line(), span.start.col());
        let before = lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let is_behind = before.chars().take(column).any(|c| !c.is_whitespace());
        Some(Comment { line, column, text: text.into_owned(), is_behind })
    };
    events.filter_map(comment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_values_that_look_like_them() {
        let source = "# one\na: '# no' # two\nb: |\n  # no\n  x # no\n  # no\nc:\n    # three\n  - d#no\n";
        let found = comments(source);
        let told: Vec<_> =
            found.iter().map(|it| (it.line, it.column, it.text.trim(), it.is_behind)).collect();
        assert_eq!(told, [(1, 0, "one", false), (2, 10, "two", true), (8, 4, "three", false)]);
    }

    #[test]
    fn any_number_of_comments_is_read() {
        let source = format!("a:\n{}  b: 1\n", "  # x\n".repeat(5_000));
        assert_eq!(comments(&source).len(), 5_000);
        assert!(crate::parse(&source).is_ok());
    }
}
