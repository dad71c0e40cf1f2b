//! Prints events and the table on stdout, everything else on stderr.

use std::io::{self, ErrorKind};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::formatter::EventFormatter;
use super::line::{self, Tone};
use super::plan::{Output, Plan, QueuesAt};
use super::table::{clock, table, table_of_real, table_of_worker};
use crate::command::output::{self, Line, Progress};
use crate::{Event, EventKind, Totals};

/// Most characters of a body, so that the line has at most 100.
const BODY_WIDTH: usize = 60;

/// The terminal, or the pipes in its place.
#[derive(Debug)]
pub(super) struct Screen {
    output: Output,
    queues: QueuesAt,
    worker: bool,
    /// True if a function's output is shown with its name.
    several_functions: bool,
    /// True if a function's output is shown here too.
    show_output: bool,
    formatter: EventFormatter,
    waiting: Progress,
}

impl Screen {
    pub(super) fn new(plan: &Plan) -> Self {
        let sources = plan.stack.sources().into_iter().map(str::to_owned).collect();
        let several_functions = plan.stack.functions.len() > 1;
        Self {
            output: plan.output,
            queues: plan.queues.clone(),
            worker: plan.worker,
            several_functions,
            show_output: plan.show_output,
            formatter: EventFormatter::new(sources),
            waiting: Progress::spinner(" {spinner} {msg}"),
        }
    }

    /// Prints what is about to run, and its addresses.
    pub(super) fn introduce(&self, plan: &Plan, about: &[String], warnings: &[String]) {
        let mut lines = Vec::new();
        let dead_letter_queues = plan.stack.dead_letter_queues();
        for mapping in &plan.stack.mappings {
            let dead = dead_letter_queues.get(mapping.queue.as_str());
            let dead = dead.map(|dead| format!(", dead letters in {dead}")).unwrap_or_default();
            let feeds = if plan.worker { "is polled by worker" } else { "feeds function" };
            lines.push(format!("queue     {} {feeds} {}{dead}", mapping.queue, mapping.function));
        }
        lines.extend_from_slice(about);
        lines.extend(plan.stack.notes.iter().map(|note| format!("left out  {note}")));
        lines.extend(plan.stack.warnings.iter().map(|warning| format!("warning   {warning}")));
        lines.extend(warnings.iter().map(|warning| format!("warning   {warning}")));
        for line in lines {
            output::tell(format!(" {line}"));
        }
        output::tell("");
    }

    /// Remembers a sent message, so that its events show its number and body.
    pub(super) fn expect(&mut self, message_id: &str, body: &str) {
        self.formatter.expect(message_id, body);
    }

    /// Returns true if the messages of a queue are shown.
    pub(super) fn shows(&self, queue: &str) -> bool {
        self.formatter.shows(queue)
    }

    /// Shows one event.
    ///
    /// # Errors
    /// Returns an error if stdout is gone, other than by a closed pipe.
    pub(super) fn show(&mut self, event: &Event) -> io::Result<()> {
        if matches!(event.kind, EventKind::Output { .. }) && !self.show_output {
            return Ok(());
        }
        let lines = self.formatter.format(event);
        if self.output == Output::Json {
            return unless_closed(output::print_json(event));
        }
        if let EventKind::Output { function, line } = &event.kind {
            let label = if self.several_functions { format!("{function}: ") } else { String::new() };
            output::tell(Line::from("          ").and(paint(Tone::Quiet, &format!("{label}{line}"))));
        }
        for line in &lines {
            unless_closed(output::print(format(line)))?;
        }
        self.waiting.set_message(self.progress());
        Ok(())
    }

    pub(super) fn close(self, totals: &Totals) -> io::Result<()> {
        drop(self.waiting);
        unless_closed(match self.output {
            Output::Json => output::print_json(&Closing {
                kind: "totals",
                totals,
                wall_seconds: totals.wall.as_secs_f64(),
                simulated_seconds: totals.simulated.as_secs_f64(),
            }),
            Output::Lines => {
                let table = match self.queues {
                    QueuesAt::Here if self.worker => table_of_worker(totals),
                    QueuesAt::Here => table(totals),
                    QueuesAt::Endpoint(_) | QueuesAt::Aws => table_of_real(totals),
                };
                let table = table.into_iter().map(Line::from);
                output::print_all(&[Line::default()].into_iter().chain(table).collect::<Vec<_>>())
            }
        })
    }

    fn progress(&self) -> String {
        let progress = &self.formatter.progress;
        let next = progress.back_at.values().min();
        let next = next.map(|next| format!(", the next one back at {}", clock(*next))).unwrap_or_default();
        let (waiting, done, dead) = (progress.back_at.len(), progress.done, progress.dead);
        let lost = if progress.lost > 0 { format!("{} lost, ", progress.lost) } else { String::new() };
        format!("{done} done, {dead} dead-lettered, {lost}{waiting} waiting{next}")
    }
}

/// Ignores a closed pipe (`| head`), because the reader has seen enough.
fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[derive(Serialize)]
struct Closing<'a> {
    kind: &'static str,
    #[serde(flatten)]
    totals: &'a Totals,
    wall_seconds: f64,
    simulated_seconds: f64,
}

fn format(line: &line::EventLine) -> Line {
    let message = match &line.message {
        Some((number, id)) => format!("#{number:<3} {}", id.get(..8).unwrap_or(id)),
        None => String::new(),
    };
    let detail = match line.word {
        "sent" => paint(Tone::Quiet, &shorten(&line.detail)),
        _ => Line::from(&line.detail),
    };
    let word = paint(line.tone, &format!("{:<13}", line.word));
    Line::from(format!(" {}  {message:<13}  ", clock(line.at))).and(word).and("  ").and(detail)
}

/// Returns the beginning of a body on one line.
fn shorten(body: &str) -> String {
    let body = body.replace(|character: char| character.is_control(), " ");
    match body.char_indices().nth(BODY_WIDTH) {
        Some((end, _)) => format!("{}...", &body[..end]),
        None => body,
    }
}

fn paint(tone: Tone, text: &str) -> Line {
    let style = match tone {
        Tone::Quiet => Style::new().dimmed(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Warning => AnsiColor::Yellow.on_default(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
    };
    Line::styled(style, text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_body_stays_on_one_short_line() {
        assert_eq!(shorten("a\nb"), "a b");
        let long = shorten(&"ä".repeat(100));
        assert_eq!(long.chars().count(), BODY_WIDTH + 3);
    }

    #[test]
    fn lines_with_and_without_a_message_are_aligned() {
        let line = |message| {
            let at = Duration::from_secs(3661);
            let line = line::EventLine {
                at,
                message,
                tone: Tone::Good,
                word: "done",
                detail: "attempt 1".to_owned(),
            };
            format(&line).plain()
        };
        let with = line(Some((7, "0123456789".to_owned())));
        assert_eq!(with, " 1:01:01  #7   01234567  done           attempt 1");
        assert_eq!(line(None).find("done"), with.find("done"));
    }
}
