//! What was typed, and what is wrong with it.

use std::process::ExitCode;

use anstyle::AnsiColor;
use clap::Parser;
use clap::error::{ContextValue, Error};

use super::escape::escape;
use super::line::Line;

const ERROR: &str = "error:";

/// Reads the arguments of this process.
///
/// # Errors
/// They are wrong, or ask for help, which has been written.
pub fn parse<A: Parser>() -> Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        if error.use_stderr() {
            // Nobody is left to tell if stderr is gone.
            let _ = super::tell_all(&lines(&escaped(error)));
            ExitCode::from(2)
        } else {
            // In colors that clap chooses, for words that are all our own.
            let _ = error.print();
            ExitCode::SUCCESS
        }
    })
}

/// A value that was typed may have come from elsewhere: `--queue "$queue"`.
fn escaped(mut error: Error) -> Error {
    let values: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in values {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(escape(&text)),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(|text| escape(text)).collect())
            }
            value => value,
        };
        error.insert(kind, value);
    }
    error
}

fn lines(error: &Error) -> Vec<Line> {
    let text = error.render().to_string();
    let mut lines: Vec<Line> = Line::each_of(text.trim_end()).collect();
    if let (Some(first), Some(rest)) = (lines.first_mut(), text.strip_prefix(ERROR)) {
        let rest = rest.lines().next().unwrap_or_default();
        *first = Line::styled(AnsiColor::Red.on_default().bold(), ERROR).and(rest);
    }
    lines
}
