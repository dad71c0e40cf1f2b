//! The closing table. Pure.

use std::time::Duration;

use redrive_sqs::cut_to;

use crate::Totals;

/// Returns the totals as aligned lines, one for each row.
pub(super) fn table(totals: &Totals) -> Vec<String> {
    let mut rows = messages(totals);
    rows.push(invocations(totals));
    rows.extend(calls("the function", totals));
    rows.extend(times(totals));
    aligned(&rows)
}

/// Returns the table of a worker, which has no invocations.
pub(super) fn table_of_worker(totals: &Totals) -> Vec<String> {
    let mut rows = messages(totals);
    rows.extend(calls("the worker", totals));
    rows.extend(times(totals));
    aligned(&rows)
}

/// Returns the table of real queues, without calls and simulated time.
pub(super) fn table_of_real(totals: &Totals) -> Vec<String> {
    let mut rows = messages(totals);
    rows.push(invocations(totals));
    rows.push(wall_time(totals));
    aligned(&rows)
}

type Row = (String, String);

fn messages(totals: &Totals) -> Vec<Row> {
    let dead: usize = totals.dead_lettered.values().sum();
    let mut rows = vec![row(0, "messages", &totals.messages), row(1, "done", &totals.done)];
    if totals.deleted_although_failed > 0 {
        rows.push(row(1, "deleted although failed", &totals.deleted_although_failed));
    }
    if dead > 0 {
        rows.push(row(1, "dead-lettered", &dead));
    }
    rows.extend(totals.dead_lettered.iter().map(|(reason, count)| row(2, &cut_to(reason, 64), count)));
    if totals.filtered_out > 0 {
        rows.push(row(1, "filtered out", &totals.filtered_out));
    }
    if totals.expired > 0 {
        rows.push(row(1, "expired", &totals.expired));
    }
    if totals.left > 0 {
        rows.push(row(1, "left", &totals.left));
    }
    rows
}

fn invocations(totals: &Totals) -> Row {
    row(0, "invocations", &totals.invocations)
}

fn calls(by: &str, totals: &Totals) -> Vec<Row> {
    let by_others = |operation| totals.client_calls.get(operation).copied().unwrap_or_default();
    let own = totals.aws_calls.iter().map(|(name, count)| (name, count.saturating_sub(by_others(name))));
    let own: Vec<_> = own.filter(|(_, count)| *count > 0).collect();
    let mut rows =
        vec![row(0, &format!("AWS calls by {by}"), &own.iter().map(|(_, count)| count).sum::<usize>())];
    rows.extend(own.iter().map(|(operation, count)| row(1, operation, count)));
    if !totals.client_calls.is_empty() {
        rows.push(row(0, "AWS calls by others", &totals.client_calls.values().sum::<usize>()));
    }
    rows
}

fn times(totals: &Totals) -> [Row; 2] {
    [wall_time(totals), row(0, "simulated time", &clock(totals.simulated))]
}

fn wall_time(totals: &Totals) -> Row {
    row(0, "wall time", &format!("{:.1} s", totals.wall.as_secs_f64()))
}

fn aligned(rows: &[Row]) -> Vec<String> {
    let left = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let right = rows.iter().map(|(_, value)| value.chars().count()).max().unwrap_or_default();
    rows.iter().map(|(name, value)| format!(" {name:<left$}  {value:>right$}")).collect()
}

fn row(depth: usize, name: &str, value: &dyn ToString) -> Row {
    (format!("{}{name}", "  ".repeat(depth)), value.to_string())
}

/// Writes hours, minutes and seconds: `0:17:02`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_reason_without_end_leaves_the_table_as_it_is() {
        let dead_lettered = BTreeMap::from([("x".repeat(70_000), 1)]);
        let lines = table(&Totals { dead_lettered, ..Totals::default() });
        assert!(lines.iter().all(|line| line.chars().count() < 100), "{lines:?}");
    }

    #[test]
    fn a_workers_table_has_its_calls_and_no_invocations() {
        let aws_calls = BTreeMap::from([("sqs.ReceiveMessage".to_owned(), 3)]);
        let lines = table_of_worker(&Totals { messages: 2, done: 2, aws_calls, ..Totals::default() });
        let names = lines.iter().map(|line| line.trim().split("  ").next().unwrap_or_default());
        let expected = [
            "messages",
            "done",
            "AWS calls by the worker",
            "sqs.ReceiveMessage",
            "wall time",
            "simulated time",
        ];
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn calls_of_other_clients_are_not_the_functions() {
        let of = |count| BTreeMap::from([("sqs.ReceiveMessage".to_owned(), count)]);
        let lines = |aws_calls, client_calls| {
            let lines = table(&Totals { aws_calls, client_calls, ..Totals::default() });
            let words = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            words.filter(|line| line.contains("calls") || line.contains("sqs.")).collect::<Vec<_>>()
        };
        let both = ["AWS calls by the function 2", "sqs.ReceiveMessage 2", "AWS calls by others 3"];
        assert_eq!(lines(of(5), of(3)), both);
        assert_eq!(lines(of(3), of(3)), ["AWS calls by the function 0", "AWS calls by others 3"]);
        assert_eq!(lines(of(2), BTreeMap::new()), both[..2]);
    }

    #[test]
    fn the_table_is_aligned_and_adds_up() {
        let totals = Totals {
            messages: 14,
            done: 8,
            deleted_although_failed: 1,
            filtered_out: 2,
            dead_lettered: BTreeMap::from([("malformed".to_owned(), 1), ("redrive policy".to_owned(), 2)]),
            invocations: 14,
            aws_calls: BTreeMap::from([("sqs.SendMessageBatch".to_owned(), 3)]),
            wall: Duration::from_millis(21_440),
            simulated: Duration::from_secs(1022),
            ..Totals::default()
        };
        let expected = "
 messages                        14
   done                           8
   deleted although failed        1
   dead-lettered                  3
     malformed                    1
     redrive policy               2
   filtered out                   2
 invocations                     14
 AWS calls by the function        3
   sqs.SendMessageBatch           3
 wall time                   21.4 s
 simulated time             0:17:02
";
        assert_eq!(table(&totals), expected[1..].lines().collect::<Vec<_>>());
    }
}
