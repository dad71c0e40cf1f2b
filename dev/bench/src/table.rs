//! Results as Markdown, and their place in a document.

use anyhow::Context;

use crate::compare::Results;
use crate::figures::Figure;
use crate::goals::{in_digits, rows};
use crate::target::Target;

/// `make bench` writes the text between these lines of the document.
const BEGIN: &str = "<!-- make bench -->";
const END: &str = "<!-- /make bench -->";

/// A title, a scenario, and the figure to show.
type Column = (&'static str, &'static str, Figure);

/// The columns of the second table.
const COLUMNS: [Column; 12] = [
    ("cold start", "cold", Figure::ColdMs),
    ("first batch of 10", "cold", Figure::FirstMs),
    ("CPU, 10 x 1 KiB", "small", Figure::CpuMs),
    ("time, 10 x 1 KiB", "small", Figure::P50Ms),
    ("99th percentile", "small", Figure::P99Ms),
    ("time, 10 x 200 B", "batch-10", Figure::P50Ms),
    ("throttled to 0.29", "throttled", Figure::InvocationsPerSecond),
    ("time, asking", "asking", Figure::P50Ms),
    ("CPU, asking", "asking", Figure::CpuMs),
    ("CPU, 5,500 x 200 B", "batch-5500", Figure::CpuMs),
    ("time, 5,500 x 200 B", "batch-5500", Figure::P50Ms),
    ("peak memory", "batch-5500", Figure::PeakMib),
];

/// Writes the goals, then the medians of all targets.
pub(crate) fn markdown(results: &Results) -> String {
    let rows = rows(results).into_iter().filter(|row| !results.partial || row.is_measured());
    let columns = columns(results);
    let mut lines = vec![
        format!("{}. Medians of {} interleaved rounds.", results.machine, results.rounds),
        String::new(),
    ];
    lines.push("| what | goal | redrive | compared with | ratio | met |".to_owned());
    lines.push("| --- | --- | --- | --- | --- | --- |".to_owned());
    lines.extend(rows.map(|row| {
        let cells = [row.what, &row.goal, &row.redrive, &row.other, &row.ratio, &row.verdict];
        format!("| {} |", cells.join(" | "))
    }));
    lines.push(String::new());
    let titles: Vec<_> = columns.iter().map(|&(title, ..)| title).collect();
    lines.push(format!("| | {} |", titles.join(" | ")));
    lines.push(format!("| --- |{}", " --- |".repeat(columns.len())));
    for target in Target::ALL {
        let median = |scenario, figure: Figure| {
            let median = results.median(target, scenario, figure);
            median.map_or_else(|| "-".to_owned(), |median| in_digits(median, figure.unit()))
        };
        let cells: Vec<_> = columns.iter().map(|&(_, scenario, figure)| median(scenario, figure)).collect();
        lines.push(format!("| {} | {} |", target.name(), cells.join(" | ")));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Returns all columns, or those with results if only some scenarios were requested.
fn columns(results: &Results) -> Vec<Column> {
    let known = |scenario| results.scenarios.contains_key(scenario);
    COLUMNS.into_iter().filter(|&(_, scenario, _)| !results.partial || known(scenario)).collect()
}

/// Puts the table between the marks of a document.
pub(crate) fn insert(document: &str, table: &str) -> anyhow::Result<String> {
    let (before, rest) = document.split_once(BEGIN).with_context(|| format!("there is no {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("there is no {END}"))?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let document = format!("# Title\n{BEGIN}\nold\n{END}\nthe end\n");
        let once = insert(&document, "new\n").unwrap();
        assert_eq!(once, format!("# Title\n{BEGIN}\nnew\n{END}\nthe end\n"));
        assert_eq!(insert(&once, "new\n").unwrap(), once);
    }

    #[test]
    fn a_document_without_marks_is_refused() {
        let error = insert("# Title\n", "").unwrap_err();
        assert_eq!(error.to_string(), format!("there is no {BEGIN}"));
    }

    #[test]
    fn every_row_has_as_many_cells_as_its_head() {
        let table = markdown(&Results::default());
        let cells: Vec<_> =
            table.lines().map(|line| line.matches('|').count()).filter(|&bars| bars > 0).collect();
        let (goals, figures) = cells.split_at(rows(&Results::default()).len() + 2);
        assert!(goals.iter().all(|&bars| bars == 7), "{table}");
        assert!(figures.len() == 5 && figures.iter().all(|&bars| bars == COLUMNS.len() + 2), "{table}");
    }

    #[test]
    fn a_table_of_some_scenarios_has_only_what_was_measured() {
        let mut results = Results { partial: true, ..Results::default() };
        let figures = Figures::from([(Figure::P50Ms, 0.75)]);
        let targets = [Target::Baseline, Target::Redrive].map(|target| (target, figures.clone()));
        results.scenarios.insert("batch-10".to_owned(), targets.into());
        let table = markdown(&results);
        assert!(table.contains("\n| | time, 10 x 200 B |\n"), "{table}");
        assert!(table.contains("\n| redrive | 0.750 ms |\n"), "{table}");
        assert!(!table.contains("not measured") && !table.contains("cold"), "{table}");
    }
}
