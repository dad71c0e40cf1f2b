//! Formats a plan for people. Pure.

use super::figures::{Choice, Figures};
use super::scenario::{Errors, Scenario};
use super::terms::Terms;
use crate::counted::{counted, thousands};
use crate::output::Line;
use crate::span;
use crate::width::Width;

const TITLES: [&str; 8] =
    ["scenario", "errors", "dead", "expired", "calls", "recovery", "invocations", "$/million"];

pub(super) fn text(
    terms: &Terms,
    is_worker: bool,
    runs: &[Figures],
    choices: Option<&[Choice]>,
    width: Width,
) -> Vec<Line> {
    let mut lines = vec![heading(terms, is_worker)];
    let scenarios = runs.chunk_by(|one, next| one.scenario == next.scenario);
    lines.extend(scenarios.map(|runs| simulated(&runs[0])));
    lines.push(String::new());
    lines.extend(table(runs));
    lines.push(String::new());
    lines.extend(runs.iter().filter_map(waits));
    lines.extend(choices.into_iter().flat_map(|choices| changes(terms, choices)));
    lines.into_iter().flat_map(|line| width.wrap("", "  ", line)).collect()
}

fn heading(terms: &Terms, is_worker: bool) -> String {
    let Terms { known, max_receive_count, batch_size, maximum_concurrency, .. } = terms;
    let consumer = match is_worker {
        true => "a worker".to_owned(),
        false => format!("batches of {batch_size}, {maximum_concurrency} at a time"),
    };
    format!("{}: maxReceiveCount {max_receive_count}, {consumer}", known.name)
}

/// Describes the simulated part of a scenario.
fn simulated(run: &Figures) -> String {
    format!(
        "{}: {} for {}, {} at once",
        run.scenario.name(),
        counted(run.messages, "message"),
        span::words(run.course.end()),
        run.course.group
    )
}

fn table(runs: &[Figures]) -> Vec<String> {
    let cells = |run: &Figures| {
        let errors = if run.scenario == Scenario::Burst { "-" } else { run.errors.code() };
        [
            run.scenario.name().to_owned(),
            errors.to_owned(),
            thousands(run.dead_letters),
            thousands(run.expired),
            thousands(run.calls),
            run.recovery.map_or_else(|| "-".to_owned(), span::span),
            if run.invocations == 0 { "-".to_owned() } else { thousands(run.invocations) },
            format!("{:.2}", run.cost),
        ]
    };
    let rows: Vec<[String; 8]> =
        std::iter::once(TITLES.map(str::to_owned)).chain(runs.iter().map(cells)).collect();
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or_default());
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}

fn waits(run: &Figures) -> Option<String> {
    let longest = span::words(run.longest_wait?);
    Some(format!("noisy with {}: messages of other tenants wait for {longest} at most", run.errors.code()))
}

/// Lists the changes to the cheapest settings for each kind of handler.
fn changes(terms: &Terms, choices: &[Choice]) -> Vec<String> {
    let mut lines = vec!["cheapest settings that lose nothing in the outage:".to_owned()];
    for errors in Scenario::Outage.errors() {
        let choice = choices.iter().find(|choice| choice.errors == *errors);
        lines.extend(choice.map(|choice| format!("  {}", change(terms, choice))));
    }
    // The choices are sorted by cost.
    if choices.first().is_some_and(|choice| choice.errors == Errors::Outage) {
        lines[1..].reverse();
    }
    if choices.is_empty() {
        lines = vec!["no settings that were tried lose nothing in the outage".to_owned()];
    }
    lines
}

fn change(terms: &Terms, choice: &Choice) -> String {
    let (name, count) = (&terms.known.name, choice.max_receive_count);
    let count = match count == terms.max_receive_count {
        true => format!("keep maxReceiveCount {count}"),
        false => format!("set maxReceiveCount and REDRIVE_MAX_RECEIVE_COUNT to {count}"),
    };
    let handler = match choice.errors {
        Errors::Retry => "with ?",
        Errors::Outage => "with .map_err(Failure::outage)",
    };
    let (calls, recovery) = (counted(choice.calls, "call"), choice.recovery.unwrap_or_default());
    format!("{name}: {count} {handler}: ${:.2}, {calls}, {} to recover", choice.cost, span::span(recovery))
}
