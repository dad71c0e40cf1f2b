//! Prints all dead-letter queues with one line each, or several if that is too wide. Pure.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use anstyle::Style;
use redrive_sqs::{QueueArn, queue_name};

use super::facts::{DeadLetterQueue, Fault, Fleet, Unreachable};
use super::snooze::Snooze;
use crate::counted::{counted, thousands};
use crate::escape::{cut, padded, width};
use crate::output::Line;
use crate::span::span;
use crate::width::{Layout, Width};

const HEADS: [&str; 10] =
    ["LETTERS", "PER HOUR", "OLDEST", "EXPIRES", "QUEUE", "SOURCE", "OWNER", "PLACE", "SNOOZED", "ERROR"];
/// Number of leading columns with numbers.
const NUMBERS: usize = 3;
const GAP: usize = 2;
/// Characters of a text in a cell, unless it may be as wide as it needs.
const TEXT: usize = 40;

pub(super) fn table(fleet: &Fleet, layout: Layout, now: SystemTime) -> Vec<Line> {
    let most = columns(layout);
    let text = if layout == Layout::Wide { usize::MAX } else { TEXT };
    let mut lines = Line::from(sum(fleet)).fit(most, "", "");
    if !fleet.queues.is_empty() {
        lines.push(Line::default());
        lines.extend(rows(fleet, text, most, now));
    }
    lines
}

/// Lists the queues and places that could not be read.
pub(super) fn faults(fleet: &Fleet, layout: Layout) -> Vec<Line> {
    let mut lines = Vec::new();
    let faults = fleet
        .unreachable
        .iter()
        .map(unreachable)
        .chain(fleet.failed.iter().map(|fault| describe("not read", fault)))
        .chain(fleet.unknown.iter().map(|fault| describe("unknown", fault)));
    let mut faults = faults.peekable();
    if faults.peek().is_some() {
        lines.push(Line::default());
    }
    lines.extend(faults.flat_map(|fault| Line::from(fault).fit(columns(layout), "", "  ")));
    lines
}

fn columns(layout: Layout) -> usize {
    match layout {
        Layout::Fit(Width::Terminal(columns)) => columns,
        Layout::Fit(Width::Elsewhere) | Layout::Wide => usize::MAX,
    }
}

fn sum(fleet: &Fleet) -> String {
    let with_letters = fleet.with_letters();
    let all = counted(with_letters + fleet.empty, "dead-letter queue");
    match with_letters {
        0 => match fleet.problem() {
            Some(problem) if fleet.empty == 0 => format!("no dead-letter queue was read: {problem}"),
            Some(problem) => format!("no letters in {all}; {problem}"),
            None => format!("no letters in {all}"),
        },
        _ => {
            let letters = thousands(fleet.letters());
            let (noun, verb) = if fleet.letters() == 1 { ("letter", "has") } else { ("letters", "have") };
            let verb = if with_letters == 1 { "has" } else { verb };
            format!("{} of {all} {verb} {letters} {noun}", thousands(with_letters))
        }
    }
}

fn rows(fleet: &Fleet, text: usize, most: usize, now: SystemTime) -> Vec<Line> {
    let places: BTreeSet<_> = fleet.queues.iter().map(|queue| (&queue.account, &queue.region)).collect();
    let cells: Vec<[String; 10]> =
        fleet.queues.iter().map(|queue| cells(queue, places.len() > 1, text, now)).collect();
    let is_shown = |column: usize| column <= 4 || cells.iter().any(|cells| cells[column] != "-");
    let widths: Vec<(usize, usize)> = (0..HEADS.len())
        .filter(|column| is_shown(*column))
        .map(|column| {
            let widest = cells.iter().map(|cells| width(&cells[column])).max().unwrap_or_default();
            (column, widest.max(HEADS[column].len()))
        })
        .collect();
    if widths.iter().map(|(_, width)| width + GAP).sum::<usize>() - GAP > most {
        return fleet
            .queues
            .iter()
            .zip(&cells)
            .flat_map(|(queue, cells)| stacked(queue, cells, most))
            .collect();
    }
    let line = |cells: &[String; 10]| {
        let cells = widths.iter().map(|&(column, wide)| match column < NUMBERS {
            true => " ".repeat(wide - width(&cells[column])) + &cells[column],
            false => padded(cells[column].clone(), wide),
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let head = Line::styled(Style::new().bold(), line(&HEADS.map(str::to_owned)));
    std::iter::once(head).chain(cells.iter().map(|cells| line(cells).into())).collect()
}

fn cells(queue: &DeadLetterQueue, with_place: bool, text: usize, now: SystemTime) -> [String; 10] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let seconds = |seconds| span(Duration::from_secs(seconds));
    let sources: Vec<&str> = queue.sources.iter().map(|arn| queue_name(arn)).collect();
    [
        thousands(queue.letters),
        or_dash(queue.growth_per_hour.map(signed)),
        or_dash(queue.oldest_seconds.map(seconds)),
        or_dash(queue.first_letter_expires.map(|expiry| expiry.words())),
        cut(&queue.name, text.max(80)),
        cut(&sources.join(", "), text),
        or_dash(queue.owner.as_ref().map(|owner| cut(owner, text))),
        if with_place { format!("{} {}", queue.account, queue.region) } else { "-".to_owned() },
        or_dash(queue.snoozed.as_ref().map(|snooze| cut(&words(snooze), text.max(80)))),
        or_dash(queue.seen.as_ref().and_then(|seen| Some(cut(&seen.words(now)?, text.max(80))))),
    ]
}

/// Formats a queue with one line for each fact.
fn stacked(queue: &DeadLetterQueue, cells: &[String; 10], most: usize) -> Vec<Line> {
    let [_, growth, oldest, expires, name, source, owner, place, snoozed, seen] = cells;
    let known = |label: &str, cell: &String| (cell != "-").then(|| format!("{label}{cell}"));
    let facts = [
        Some(counted(usize::try_from(queue.letters).unwrap_or(usize::MAX), "letter")),
        known("per hour ", growth),
        known("oldest ", oldest),
        known("expires ", expires),
    ];
    let origin = [Some(format!("from {source}")), known("owner ", owner), known("", place)];
    let inner = most.saturating_sub(2);
    let snoozed = [known("snoozed ", snoozed)];
    let below = [&facts[..], &origin, &snoozed, &[known("", seen)]];
    let below = below
        .into_iter()
        .map(|parts| parts.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", "))
        .filter(|parts| !parts.is_empty())
        .map(|parts| Line::from(format!("  {}", cut(&parts, inner))));
    std::iter::once(Line::styled(Style::new().bold(), cut(name, most))).chain(below).collect()
}

fn words(snooze: &Snooze) -> String {
    format!("until {} by {}: {}", snooze.until, snooze.user, snooze.reason)
}

fn signed(growth: i64) -> String {
    match growth {
        0 => "0".to_owned(),
        1.. => format!("+{}", thousands(growth)),
        _ => format!("-{}", thousands(growth.unsigned_abs())),
    }
}

fn unreachable(unreachable: &Unreachable) -> String {
    let sources: Vec<&str> = unreachable.sources.iter().map(|arn| queue_name(arn)).collect();
    let name = QueueArn::parse(&unreachable.arn).map_or(unreachable.arn.as_str(), |arn| arn.name);
    format!("unreachable: {name}, of {}: {}", sources.join(", "), unreachable.error)
}

fn describe(what: &str, fault: &Fault) -> String {
    format!("{what}: {}: {}", fault.place, fault.error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::facts::tests::queue;
    use super::super::facts::{Details, PlaceFacts};
    use super::*;

    fn fleet(name: &str, owner: &str) -> Fleet {
        let queues = vec![queue(name, 1_234, 345_600, None), queue("source", 0, 345_600, Some(name))];
        let arn = queues[0].arn.clone();
        let details = Details { owner: Some(owner.to_owned()), ..Details::default() };
        let facts = PlaceFacts {
            place: "eu-west-1".to_owned(),
            queues,
            details: [(arn, details)].into(),
            failures: vec![format!("could not list {owner}")],
            ..PlaceFacts::default()
        };
        Fleet::of(&[facts], false)
    }

    fn print(fleet: &Fleet, layout: Layout) -> String {
        table(fleet, layout, SystemTime::UNIX_EPOCH)
            .iter()
            .chain(&faults(fleet, layout))
            .map(|line| line.plain() + "\n")
            .collect()
    }

    #[test]
    fn a_queue_is_a_line_or_some_where_a_line_has_no_room() {
        let fleet = fleet("orders-dead", "payments");
        let layout = |columns| Layout::Fit(Width::Terminal(columns));
        assert_eq!(
            print(&fleet, layout(90)),
            "1 of 1 dead-letter queue has 1,234 letters\n\n\
             LETTERS  PER HOUR  OLDEST  EXPIRES    QUEUE        SOURCE  OWNER\n\
             \u{20} 1,234         -       -  within 4d  orders-dead  source  payments\n\n\
             not read: eu-west-1: could not list payments\n"
        );
        assert_eq!(print(&fleet, Layout::Wide), print(&fleet, layout(90)));
        assert_eq!(
            print(&fleet, layout(40)),
            "1 of 1 dead-letter queue has 1,234\nletters\n\n\
             orders-dead\n  1,234 letters, expires within 4d\n  from source, owner payments\n\n\
             not read: eu-west-1: could not list\n  payments\n"
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            name in "[a-zA-Z0-9_-]{1,80}", owner in "[ -~漢字é\u{301}]{0,100}", columns in 20_usize..200,
        ) {
            let shown = print(&fleet(&name, &owner), Layout::Fit(Width::Terminal(columns)));
            for line in shown.lines() {
                prop_assert!(width(line) <= columns, "{columns}: {line:?}");
            }
        }
    }
}
