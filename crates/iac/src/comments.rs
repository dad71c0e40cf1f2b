//! The comments of a template. Pure.

use granit_parser::{Event, Options, Parser};

/// A comment, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 0.
    pub column: usize,
    /// Text without its `#`.
    pub text: String,
    /// True if something stands before it on its line.
    pub is_behind: bool,
}

/// Returns all comments, up to text that is not YAML. Text inside a value is not a comment.
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
