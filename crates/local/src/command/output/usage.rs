//! Parses the arguments and reports errors in them.

use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Command, Parser};

use super::escape::escape;
use super::line::Line;

/// Reads the arguments of this process.
///
/// # Errors
/// Returns the exit code after it printed an error or the help.
pub fn parse<A: Parser>() -> Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        let error = with_tip(error, &A::command(), std::env::args().skip(1));
        if error.use_stderr() {
            // If stderr is gone, nobody is left to notify.
            let _ = super::tell_all(&lines(&escaped(error)));
            ExitCode::from(2)
        } else {
            // Help contains only our own words, in clap's colors.
            let _ = error.print();
            ExitCode::SUCCESS
        }
    })
}

/// Adds a tip, because a name without a flag is most likely that of a stack or a queue.
fn with_tip(mut error: Error, command: &Command, words: impl Iterator<Item = String>) -> Error {
    let command = words.fold(command, |command, word| command.find_subcommand(&word).unwrap_or(command));
    let takes = |flag: &str| command.get_arguments().any(|argument| argument.get_long() == Some(flag));
    if error.kind() == ErrorKind::UnknownArgument
        && takes("stack")
        && takes("queue")
        && let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg)
        && !name.starts_with('-')
    {
        let tip = format!("did you mean --stack {name} or --queue {name}?");
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(escape(&tip))]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// Escapes the values in an error, which may contain text of others: `--queue "$queue"`.
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

/// Returns the error on one line, like all messages of the command. Help that nobody requested stays as it is.
fn lines(error: &Error) -> Vec<Line> {
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(wrong) => vec![Line::from(format!("redrive: {}", on_one_line(wrong)))],
        None => Line::each_of(text.trim_end()).collect(),
    }
}

fn on_one_line(text: &str) -> String {
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    let (wrong, usage) = text.split_once("\n\nUsage: ").unwrap_or((text, ""));
    let paragraphs = wrong.split("\n\n").map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    let wrong = paragraphs.collect::<Vec<_>>().join("; ").replace("; tip: ", "; ");
    let command: Vec<_> =
        usage.split_whitespace().take_while(|word| !word.starts_with(['-', '<', '['])).collect();
    let wrong = with_range(&wrong).unwrap_or(wrong);
    if command.is_empty() { wrong } else { format!("{wrong}; see {} --help", command.join(" ")) }
}

/// Rewrites clap's `0 is not in 1..=1000`.
fn with_range(text: &str) -> Option<String> {
    let (before, range) = text.split_once(" is not in ")?;
    let (wrong, _) = before.rsplit_once(": ")?;
    let range = range
        .strip_suffix(&format!("..={}", u64::MAX))
        .map(|least| format!("{least} or more"))
        .unwrap_or_else(|| range.replace("..=", " to "));
    Some(format!("{wrong}: allowed: {range}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_clap_becomes_one_line() {
        for (said, expected) in [
            (
                "invalid value '0' for '--max <N>': 0 is not in 1..=1000\n\nFor more information, try '--help'.\n",
                "invalid value '0' for '--max <N>': allowed: 1 to 1000",
            ),
            (
                "invalid value '0' for '--max <N>': 0 is not in 1..=18446744073709551615",
                "invalid value '0' for '--max <N>': allowed: 1 or more",
            ),
            (
                "unrecognized subcommand 'lst'\n\n  tip: a similar subcommand exists: 'list'\n\nUsage: redrive dlq <COMMAND>\n\nFor more information, try '--help'.\n",
                "unrecognized subcommand 'lst'; a similar subcommand exists: 'list'; see redrive dlq --help",
            ),
            (
                "the following required arguments were not provided:\n  <ID>\n\nUsage: redrive dlq show <--queue <QUEUE>> <ID>\n",
                "the following required arguments were not provided: <ID>; see redrive dlq show --help",
            ),
        ] {
            assert_eq!(on_one_line(said), expected);
        }
    }
}
