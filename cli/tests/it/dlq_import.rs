//! `redrive dlq import` to a FIFO queue: nothing overtakes what was not sent, and nothing is swallowed in silence.

use serde_json::Value;

use crate::dlq_retry::letters::{bodies, take};
use crate::proxy::{Call, Fate, Proxy};
use crate::support::{Aws, Ran, at_first, command_at};

const DEAD: &str = "orders-dead.fifo";

fn import(url: &str, lines: &str) -> Ran {
    let mut command = command_at(url, "dlq import --queue orders.fifo -");
    Ran::of(command.write_stdin(lines))
}

fn line(body: &str, group: &str, id: &str) -> String {
    format!("{{\"body\": \"{body}\", \"group_id\": \"{group}\", \"deduplication_id\": \"{id}\"}}\n")
}

/// The places of the messages that begin so.
fn places(call: &Call, start: &str) -> Vec<usize> {
    let entries = call.input["Entries"].as_array().into_iter().flatten().enumerate();
    let begins = |body: &Value| body.as_str().is_some_and(|body| body.starts_with(start));
    entries.filter(|(_, entry)| begins(&entry["MessageBody"])).map(|(place, _)| place).collect()
}

#[test]
fn a_line_that_sqs_cannot_take_for_a_moment_is_sent_again_before_those_behind_it() {
    for code in ["InternalError", "KmsThrottled"] {
        let aws = Aws::with_orders(true);
        let proxy = Proxy::start(&aws.url, move |call, before| match call.action.as_str() {
            "SendMessageBatch" if before < 2 => Fate::EntriesFail(places(call, "a"), code),
            _ => Fate::Answered,
        });
        let groups = ["a", "b", "a", "b", "a"].iter().enumerate();
        let lines: String = groups
            .map(|(index, group)| line(&format!("{group}{index}"), group, &format!("d{index}")))
            .collect();
        let ran = import(&proxy.url, &lines);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, "5 letters sent to orders-dead.fifo\n"), "{code}");
        let arrived = bodies(&aws, DEAD);
        let of =
            |group: &str| arrived.iter().filter(|body| body.starts_with(group)).cloned().collect::<Vec<_>>();
        assert_eq!(
            (of("a"), of("b")),
            (["a0", "a2", "a4"].map(str::to_owned).to_vec(), vec!["b1".to_owned(), "b3".to_owned()])
        );
        let sends: Vec<_> = proxy.sizes("SendMessageBatch");
        assert_eq!(sends, [2, 2, 1, 1, 1], "{code}: together with those of other groups");
    }
}

#[test]
fn a_line_that_sqs_never_takes_is_given_up_after_a_few_tries() {
    let aws = Aws::with_orders(true);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::EntriesFail(places(call, "a"), "InternalError"),
        _ => Fate::Answered,
    });
    let ran = import(&proxy.url, &[line("a", "a", "1"), line("b", "b", "2"), line("a", "a", "3")].concat());
    ran.ended(1);
    assert_eq!(
        ran.stderr.lines().collect::<Vec<_>>(),
        [
            "line 1: AWS reported an internal error (a fault): try again",
            "group a: line 1 was not sent, so line 3 behind it was not sent either",
            "1 letter sent to orders-dead.fifo",
            "redrive: 2 lines failed",
        ]
    );
    assert_eq!(proxy.entries(&["SendMessageBatch"]).len(), 4);
    assert_eq!(bodies(&aws, DEAD), ["b"]);
}

#[test]
fn a_line_that_fails_stops_its_group_and_no_other() {
    let aws = Aws::with_orders(true);
    let proxy = Proxy::start(
        &aws.url,
        at_first(1, "SendMessageBatch", Fate::EntriesFail(vec![0], "InvalidMessageContents")),
    );
    let mut lines: String = ["a", "b", "a", "b", "a"]
        .iter()
        .enumerate()
        .map(|(index, group)| line(&format!("{group}{index}"), group, &format!("d{index}")))
        .collect();
    for number in 5..207 {
        lines += &line(&format!("f{number:03}"), "f", &format!("d{number}"));
    }
    lines += &line("a207", "a", "d207");
    let ran = import(&proxy.url, &lines);
    ran.ended(1);
    assert_eq!(
        ran.stderr.lines().collect::<Vec<_>>(),
        [
            "line 1: the body or an attribute holds a character that SQS does not accept (a fault)",
            "group a: line 1 was not sent, so lines 3, 5, 208 behind it were not sent either",
            "204 letters sent to orders-dead.fifo",
            "redrive: 4 lines failed",
        ]
    );
    let arrived = bodies(&aws, DEAD);
    let of = |group: &str| arrived.iter().filter(|body| body.starts_with(group)).cloned().collect::<Vec<_>>();
    assert_eq!((of("a").len(), of("b")), (0, vec!["b1".to_owned(), "b3".to_owned()]));
    assert!(of("f").is_sorted(), "{arrived:?}");
}

#[test]
fn lines_with_the_same_deduplication_id_are_named_and_not_counted() {
    let aws = Aws::with_orders(true);
    let lines = [line("1", "a", "x"), line("2", "b", "y"), line("1", "a", "x"), line("3", "b", "x")].concat();
    let said = [
        "line 3: skipped, since line 1 is the same letter",
        "line 4: its deduplication id is that of line 1, so SQS would drop it: change it",
    ];
    let dry = aws.redrive_with("dlq import --queue orders.fifo - --dry-run", &lines);
    let ends = ["2 letters would be sent to orders-dead.fifo", "redrive: 1 line failed"];
    assert_eq!(
        (dry.code, dry.stderr.lines().collect::<Vec<_>>()),
        (1, [said, ends].concat()),
        "found before anything is sent"
    );
    let ran = import(&aws.url, &lines);
    let ends = ["2 letters sent to orders-dead.fifo", "redrive: 1 line failed"];
    assert_eq!((ran.code, ran.stderr.lines().collect::<Vec<_>>()), (1, [said, ends].concat()));
    assert_eq!(aws.counts(DEAD), (2, 0));
    let twice = import(&aws.url, &[line("1", "c", "z"), line("1", "c", "z")].concat());
    assert_eq!(twice.code, 0, "the same letter twice is no failure: {}", twice.stderr);
}

#[test]
fn where_an_import_ends_early_it_says_what_went_before() {
    let aws = Aws::with_orders(true);
    let proxy = Proxy::start(&aws.url, |call, before| match call.action.as_str() {
        "SendMessageBatch" if before == 1 => Fate::Refused(403, "AccessDeniedException"),
        _ => Fate::Answered,
    });
    let lines = [line("1", "a", "1"), line("2", "a", "2"), line("3", "b", "3")].concat();
    let ran = import(&proxy.url, &lines);
    ran.ended(1);
    let expected = "line 3 behind it had already been sent: stopped at line 2, after 2 letters: ";
    ran.stderr_has(expected);
}

#[test]
fn a_line_that_was_refused_before_an_import_ends_early_is_named() {
    let aws = Aws::with_orders(true);
    // Refused together and then the first alone, so each goes alone, and the third is the last.
    let proxy = Proxy::start(&aws.url, |call, before| match (call.action.as_str(), before) {
        ("SendMessageBatch", 0 | 1) => Fate::Says("InvalidMessageContents", "no such character"),
        ("SendMessageBatch", 3) => Fate::Refused(403, "AccessDeniedException"),
        _ => Fate::Answered,
    });
    let lines = [line("1", "a", "1"), line("2", "b", "2"), line("3", "c", "3")].concat();
    import(&proxy.url, &lines)
        .ended(1)
        .stderr_starts("line 1: ")
        .stderr_has("stopped at line 3, after 1 letter: ");
}

#[test]
fn on_a_standard_queue_a_group_stops_nothing_and_ids_are_not_compared() {
    let aws = Aws::with_orders(false);
    let fate = Fate::EntriesFail(vec![0], "InvalidMessageContents");
    let proxy = Proxy::start(&aws.url, at_first(1, "SendMessageBatch", fate));
    let lines = ["1", "2", "3"].map(|body| line(body, "a", "x")).concat();
    proxy
        .redrive_with("dlq import --queue orders -", &lines)
        .ended(1)
        .stderr_ends("redrive: 1 line failed\n");
    assert_eq!((proxy.sizes("SendMessageBatch"), aws.counts("orders-dead")), (vec![3], (2, 0)));
}

#[test]
fn lines_behind_one_whose_answer_is_lost_are_not_said_to_have_gone() {
    let aws = Aws::with_orders(true);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::AnswerLost,
        _ => Fate::Answered,
    });
    let lines = ["1", "2", "3"].map(|body| line(body, "a", body)).concat();
    let ran = proxy.redrive_with("dlq import --queue orders.fifo -", &lines);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("line 1 may have been sent anyway"), "{ran:?}");
    assert!(!ran.stderr.contains("had already been sent"), "{ran:?}");
}

#[test]
fn a_file_with_a_byte_order_mark_is_read() {
    let aws = Aws::with_orders(true);
    let ran = import(&aws.url, &format!("\u{feff}{}{}", line("a", "a", "1"), line("b", "a", "2")));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "2 letters sent to orders-dead.fifo\n"));
}

/// A standard queue with two letters without a note, of which SQS moved one there.
fn without_notes() -> Aws {
    let aws = Aws::with_orders(false);
    aws.send("orders", "moved");
    let look = aws.sqs.receive_message().queue_url(aws.queue_url("orders")).visibility_timeout(0);
    for _ in 0..4 {
        aws.wait(look.clone().send()).expect("it is received");
    }
    aws.letter("sent here");
    assert_eq!(aws.counts("orders-dead"), (2, 0));
    aws
}

#[test]
fn letters_that_are_imported_beside_their_originals_are_sent_once() {
    let aws = without_notes();
    let exported = aws.redrive("dlq export --queue orders -").ended(0).stdout.clone();
    for _ in 0..2 {
        aws.redrive_with("dlq import --queue orders --yes -", &exported).ended(0);
    }
    assert_eq!(aws.counts("orders-dead"), (6, 0));
    let ran = aws.redrive("dlq retry --queue orders --yes");
    ran.printed(0, "2 sent from orders-dead to orders, 4 duplicates deleted\n");
    let sent = take(&aws, "orders");
    let names = sent
        .iter()
        .map(|message| message.message_attributes.clone().unwrap_or_default().into_keys().collect());
    let names: Vec<Vec<String>> = names.collect();
    assert_eq!(names, [["redrive.origin"], ["redrive.origin"]]);
    let mut bodies: Vec<_> = sent.into_iter().filter_map(|message| message.body).collect();
    bodies.sort();
    assert_eq!(bodies, ["moved", "sent here"]);
}

#[test]
fn an_imported_letter_is_what_its_line_says() {
    let aws = without_notes();
    let exported = aws.redrive("dlq export --queue orders -").ended(0).stdout.clone();
    aws.redrive("dlq delete --queue orders --all --yes").ended(0);
    aws.redrive_with("dlq import --queue orders -", &exported).ended(0);
    let lines = |text: &str| {
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        lines.sort_by_key(|line| line["body"].to_string());
        for line in &mut lines {
            for new in ["id", "enqueued_at", "expires_at", "attributes"] {
                line.as_object_mut().expect("an object").remove(new);
            }
        }
        lines
    };
    let list = aws.redrive("dlq list --queue orders --json").ended(0).stdout.clone();
    assert_eq!(lines(&list), lines(&exported));
    let again = aws.redrive("dlq export --queue orders -").ended(0).stdout.clone();
    aws.redrive_with("dlq import --queue orders --yes -", &again).ended(0);
    aws.redrive("dlq retry --queue orders --yes --where 'error missing'").ended(3);
    aws.redrive("dlq retry --queue orders --yes")
        .printed(0, "2 sent from orders-dead to orders, 2 duplicates deleted\n");
}

#[test]
fn an_import_asks_before_it_sends_letters_beside_others() {
    let aws = without_notes();
    let exported = aws.redrive("dlq export --queue orders -").ended(0).stdout.clone();
    let question = "pass --yes to send 2 letters to orders-dead, which already has 2 letters\n";
    aws.redrive_with("dlq import --queue orders -", &exported).ended(2).stderr_ends(question);
    assert_eq!(aws.counts("orders-dead"), (2, 0));
    aws.redrive_with("dlq import --queue orders --dry-run -", &exported).ended(0);
    // Nobody exported this one.
    aws.redrive_with("dlq import --queue orders -", "{\"body\": \"new\"}").ended(0);
    aws.redrive_with("dlq import --queue orders --to orders -", &exported).ended(0);
}

#[test]
fn a_letter_without_room_for_its_identity_is_named() {
    let aws = Aws::with_orders(false);
    let attributes: Vec<String> = (0..10).map(|number| format!("\"a{number}\": \"x\"")).collect();
    let line = format!("{{\"id\": \"l\", \"body\": \"x\", \"attributes\": {{{}}}}}\n", attributes.join(", "));
    let told = "line 1: no room for the id of its message: if its letter is still in a queue, retry sends both\n\
                1 letter sent to orders-dead\n";
    aws.redrive_with("dlq import --queue orders -", &line).told(0, told);
}
