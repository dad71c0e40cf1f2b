use std::time::Duration;

use redrive::tools::Retries;

use super::*;
use crate::schedule::course::Terms;

fn plan(max: Option<u32>, backoff: &str, retention: u64) -> Plan {
    let retries = Retries::from_variables("orders", |name| match name {
        "REDRIVE_MAX_RECEIVE_COUNT" => max.map(|count| count.to_string()),
        "REDRIVE_BACKOFF" => Some(backoff.to_owned()),
        _ => None,
    });
    let terms = Terms {
        rule: Rule::Redrive(retries.unwrap()),
        max_receive_count: max,
        is_fifo: false,
        retention: Duration::from_secs(retention),
        dead_letter_retention: Some(Duration::from_secs(86_400)),
        attempt_duration: Duration::ZERO,
    };
    Plan::of("orders".to_owned(), terms)
}

fn plain(plan: &Plan, sent: Option<SystemTime>, width: Width) -> String {
    text(plan, sent, width).iter().map(|line| line.plain() + "\n").collect()
}

#[test]
fn each_attempt_is_a_row_with_its_wait_drawn() {
    let expected = "
orders (standard): 4 deliveries; messages are kept for 7d, dead letters 1d
retries wait for redrive's backoff

  attempt  comes after  then waits
        1           0s          2s  o===
        2           2s          4s      o=======
        3           6s          8s              o==============
        4          14s          0s                             o
                                                   dead letter D
                                    0   2s  4s      8s  10s

dead letter after 14s, moved by the redrive policy
letter expires after 1d (SQS counts from when the message was sent)
";
    let written = plain(&plan(Some(4), "{}", 604_800), None, Width::Terminal(80));
    assert_eq!(written.lines().count(), expected.trim_start().lines().count(), "{written}");
    for (line, expected) in written.lines().zip(expected.trim_start().lines()).take(4) {
        assert_eq!(line, expected);
    }
    assert!(written.contains("\n        4          14s          0s"), "{written}");
    assert!(written.ends_with(&expected[expected.find("dead letter after").unwrap()..]), "{written}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let sent = humantime::parse_rfc3339("2026-11-21T23:59:58Z").unwrap();
    for backoff in ["{}", r#"{"jitter": "full"}"#, r#"{"kind": "fixed", "delay": 60, "jitter": 10}"#] {
        for (width, sent) in
            [26, 40, 60, 80, 100, 300].into_iter().flat_map(|it| [(it, None), (it, Some(sent))])
        {
            let written = plain(&plan(Some(20), backoff, 604_800), sent, Width::Terminal(width));
            assert!(written.lines().all(|line| line.len() <= width), "{width}: {written}");
            assert!(written.contains("attempt") && written.contains("letter"), "{written}");
            let is_drawn = |line: &&str| line.contains("o=") || line.contains("o~") || line.ends_with(" o");
            assert!(width < 30 || written.lines().filter(is_drawn).count() >= 2, "{width}: {written}");
        }
    }
}

#[test]
fn columns_give_way_one_after_the_other() {
    let heads = |width| {
        let plan = plan(Some(4), r#"{"jitter": "full"}"#, 604_800);
        let written = plain(&plan, None, Width::Terminal(width));
        let head = written.lines().find(|line| line.contains("attempt")).unwrap_or_default();
        head.split("  ")
            .filter(|head| !head.is_empty())
            .map(|head| head.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let all = ["attempt", "comes after", "earliest", "latest", "then waits", "at least", "at most"];
    assert_eq!(heads(80), all);
    assert_eq!(heads(60), ["attempt", "comes after", "then waits", "at least", "at most"]);
    assert_eq!(heads(40), ["attempt", "comes after", "then waits"]);
    assert_eq!(heads(25), ["attempt", "comes after"]);
}

#[test]
fn without_room_there_is_no_plot() {
    assert!(!plain(&plan(Some(4), "{}", 604_800), None, Width::Terminal(10)).contains('='));
}

#[test]
fn attempts_that_are_all_alike_are_folded() {
    let written =
        plain(&plan(Some(30), r#"{"kind": "fixed", "delay": 60}"#, 604_800), None, Width::Terminal(80));
    assert!(written.contains("      ...      27 more\n"), "{written}");
    assert_eq!(
        written.lines().filter(|line| line.contains('o') && line.contains("1m  ")).count(),
        2,
        "{written}"
    );
}

#[test]
fn how_it_ends_is_told_in_words() {
    for (max, backoff, retention, expected) in [
        (Some(20), "{}", 604_800, "letter expires after 1d, before it is written: it is never visible"),
        (
            Some(20),
            "{}",
            3_600,
            "expired after 1h: SQS deletes the message, and there is no dead letter (11 of 20 deliveries)",
        ),
        (None, "{}", 3_600, "and there is no dead letter (11 deliveries)"),
        (
            Some(3),
            r#"{"kind": "fixed", "delay": 60, "jitter": 10}"#,
            3_600,
            "dead letter after 1m 40s to 2m 20s",
        ),
        (
            Some(20),
            r#"{"jitter": "full"}"#,
            3_600,
            "with the shortest delays that the jitter allows:\n  dead letter after 19s",
        ),
    ] {
        let written = plain(&plan(max, backoff, retention), None, Width::Elsewhere);
        assert!(written.contains(expected), "{expected}: {written}");
    }
}

#[test]
fn with_a_time_of_sending_attempts_have_their_own() {
    let sent = humantime::parse_rfc3339("2026-11-21T23:59:58Z").unwrap();
    let written = plain(&plan(Some(3), "{}", 604_800), Some(sent), Width::Elsewhere);
    assert!(written.contains("  2026-11-22T00:00:00Z  "), "{written}");
    assert!(written.contains("dead letter after 6s, at 2026-11-22T00:00:04Z"), "{written}");
}
