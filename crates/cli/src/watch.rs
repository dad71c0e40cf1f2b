//! `--watch`: prints a report again and again, in place on a terminal, else one after the other.

use std::io;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::output::{self, Line, Stream};
use crate::problem::{OrProblem, Problem};
use crate::width::{Layout, Wide, Width};

/// A report that can be refreshed.
pub(crate) trait Report: Serialize {
    /// Formats the report for people.
    fn lines(&self, layout: Layout) -> Vec<Line>;

    /// Returns the lines below the list, which must be visible on a small screen too.
    fn below(&self, _: Layout) -> Vec<Line> {
        vec![]
    }
}

fn all_lines(report: &impl Report, layout: Layout) -> Vec<Line> {
    let mut lines = report.lines(layout);
    lines.extend(report.below(layout));
    lines
}

/// Prints the report once.
///
/// # Errors
/// Stdout is gone.
pub(crate) fn show(report: &impl Report, json: bool, wide: Wide) -> Result<(), Problem> {
    match json {
        true => output::print_json_pretty(report).or_failed(),
        false => output::print_all(&all_lines(report, wide.layout())).or_failed(),
    }
}

/// Prints the report, and then the one from `next` after each pause, until Ctrl-C.
///
/// # Errors
/// Stdout is gone, or signals cannot be listened to.
pub(crate) async fn watch<R: Report>(
    first: R,
    every: Duration,
    json: bool,
    wide: Wide,
    mut next: impl AsyncFnMut() -> anyhow::Result<R>,
) -> Result<(), Problem> {
    let screen = Screen::new(json, wide);
    let listen = |kind| signal(kind).context("could not listen for signals").or_failed();
    // Before anything is shown: the first poll of `ctrl_c()` would be after it.
    let (mut interrupted, mut terminated) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    screen.show(&Ok(first)).or_failed()?;
    loop {
        // Ctrl-C also ends a round that hangs.
        let round = async {
            tokio::time::sleep(every).await;
            next().await
        };
        let report = tokio::select! {
            biased;
            _ = interrupted.recv() => return Ok(()),
            _ = terminated.recv() => return Ok(()),
            report = round => report,
        };
        screen.show(&report).or_failed()?;
    }
}

#[derive(Debug, Clone, Copy)]
enum Screen {
    InPlace(Wide),
    Blocks,
    Json,
}

impl Screen {
    fn new(json: bool, wide: Wide) -> Self {
        match (json, Stream::Stdout.is_terminal()) {
            (true, _) => Self::Json,
            (false, true) => Self::InPlace(wide),
            (false, false) => Self::Blocks,
        }
    }

    /// Prints the report or its error. The next read may succeed.
    fn show(self, report: &anyhow::Result<impl Report>) -> io::Result<()> {
        match (self, report) {
            (Self::Json, Ok(report)) => output::print_json(report),
            (Self::InPlace(wide), report) => {
                // The terminal may have a new width.
                let layout = wide.layout();
                let (list, mut below) = match report {
                    Ok(report) => (report.lines(layout), report.below(layout)),
                    Err(error) => (vec![], vec![format!("{error:#}").into()]),
                };
                below.extend(["", "Ctrl-C ends it"].map(Line::from));
                output::redraw(&list, &below)
            }
            (Self::Blocks, Ok(report)) => {
                let mut lines = all_lines(report, Layout::Fit(Width::Elsewhere));
                lines.push(Line::default());
                output::print_all(&lines)
            }
            (Self::Blocks | Self::Json, Err(error)) => {
                output::tell(format!("redrive: {error:#}"));
                Ok(())
            }
        }
    }
}
