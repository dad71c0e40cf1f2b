//! `--watch` and `--stages`: a letter that fails again ends the run before others are sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redrive_local::{Config, FunctionConfig, MappingConfig};
use serde_json::{Value, json};

use super::letters::{DEAD, ORDERS, bodies, distinct, drain, note_of, with_letters, write_in_group};
use crate::letters::text;
use crate::proxy::{Fate, Proxy};
use crate::support::running::{built, signal, until};
use crate::support::{Aws, Ran, at_first, on, orders, spawn};
use crate::terminal::Terminal;

/// What a consumer does with a message that it received, by the message's id.
type Handler<'a> = &'a (dyn Fn(&Aws, &str, &str) + Sync);

/// Runs the command while a consumer receives from `orders`, which deletes messages if it `succeeds` and else makes them
/// visible again at once.
fn with_consumer(aws: &Aws, line: &str, succeeds: bool, handler: Handler<'_>) -> Ran {
    beside_consumer(aws, &|| aws.redrive(line), succeeds, handler)
}

fn beside_consumer(aws: &Aws, run: &dyn Fn() -> Ran, succeeds: bool, handler: Handler<'_>) -> Ran {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let receive =
                    aws.sqs.receive_message().queue_url(aws.queue_url(ORDERS)).max_number_of_messages(10);
                let timeout = if succeeds { 30 } else { 0 };
                let received = aws.wait(receive.visibility_timeout(timeout).send()).expect("it answers");
                for message in received.messages() {
                    handler(aws, message.message_id().unwrap(), message.body().unwrap());
                    if succeeds {
                        let delete = aws.sqs.delete_message().queue_url(aws.queue_url(ORDERS));
                        aws.wait(delete.set_receipt_handle(message.receipt_handle.clone()).send()).unwrap();
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let ran = run();
        is_over.store(true, Ordering::Relaxed);
        ran
    })
}

const STAGES: &str = "dlq retry --queue orders --yes --watch --stages 10,20,all";

fn stages(ran: &Ran) -> Vec<Value> {
    ran.json_lines().into_iter().filter_map(|line| line.get("stage").cloned()).collect()
}

#[test]
fn the_first_ten_that_fail_again_are_the_last_that_are_sent() {
    let aws = with_letters(50, &["panic"]);
    let ran = with_consumer(&aws, &format!("{STAGES} --wait 30s --json"), false, &|_, _, _| ());
    let stages = stages(ran.ended(1));
    assert_eq!(
        (stages.len(), &stages[0]["sent"], &stages[0]["result"]),
        (1, &json!(10), &json!("came-back"))
    );
    let came_back = stages[0]["came_back"].as_u64().unwrap();
    assert!((1..=10).contains(&came_back) && stages[0]["unknown_error"] == came_back, "{stages:?}");
    ran.stderr_has("redrive: stage 1 of 3: ").stderr_has(" of 10 letters came back: ");
    ran.stderr_ends("the other letters stay in orders-dead\n");
    ran.stdout_count("\"result\":\"sent\"", 10);
    let (dead, orders) = (aws.counts(DEAD), aws.counts(ORDERS));
    assert_eq!(dead.0 + dead.1 + orders.0 + orders.1, 50, "nothing is lost");
}

#[test]
fn a_worker_that_works_gets_all_stages() {
    let aws = with_letters(50, &["panic"]);
    let ran = with_consumer(&aws, &format!("{STAGES} --wait 2s --json"), true, &|_, _, _| ());
    let sent: Vec<_> =
        stages(ran.ended(0)).iter().map(|stage| (stage["sent"].clone(), stage["result"].clone())).collect();
    assert_eq!(sent, [10, 20, 20].map(|sent| (json!(sent), json!("clear"))));
    ran.stderr_has("redrive: stage 2 of 3: none of 20 letters came back within ");
    assert_eq!((aws.counts(DEAD), aws.counts(ORDERS)), ((0, 0), (0, 0)));
}

/// Writes a letter in place of the message, as redrive does, with this error.
fn writes(reason: &'static str) -> impl Fn(&Aws, &str, &str) + Sync {
    move |aws, id, body| {
        let send = aws.sqs.send_message().queue_url(aws.queue_url(DEAD)).message_body(body);
        let send = send.message_attributes("redrive.dead-letter", note_of(ORDERS, id, reason));
        aws.wait(send.send()).expect("it is sent");
    }
}

#[test]
fn a_letter_that_comes_back_during_a_later_stage_is_not_sent_again() {
    let aws = with_letters(12, &["panic"]);
    let is_late = AtomicBool::new(false);
    // The first message comes back as soon as the second stage is sent.
    let first = std::sync::Mutex::new(None::<(String, String)>);
    let handler = |aws: &Aws, id: &str, body: &str| {
        let mut first = first.lock().unwrap();
        match first.take() {
            Some((id, body)) if !is_late.swap(true, Ordering::Relaxed) => writes("panic")(aws, &id, &body),
            Some(_) => (),
            None if !is_late.load(Ordering::Relaxed) => *first = Some((id.to_owned(), body.to_owned())),
            None => (),
        }
    };
    let line = "dlq retry --queue orders --yes --watch --stages 1,1,all --wait 3s --json";
    let ran = with_consumer(&aws, line, true, &handler);
    let stages = stages(ran.ended(1));
    assert_eq!(
        (stages.len(), &stages[1]["result"], &stages[1]["same_error"]),
        (2, &json!("came-back"), &json!(1))
    );
    assert_eq!((&stages[1]["sent_in_all"], aws.counts(DEAD)), (&json!(2), (11, 0)));
}

#[test]
fn a_letter_that_is_back_before_the_watch_begins_is_seen_at_once() {
    let aws = with_letters(1, &["panic"]);
    let slow = on("DeleteMessageBatch", Fate::Delayed(Duration::from_secs(2)));
    let proxy = Proxy::start(&aws.url, slow);
    let line = "dlq retry --queue orders --yes --watch --stages 1,all --wait 50s --json";
    let ran = beside_consumer(&aws, &|| proxy.redrive(line), false, &|_, _, _| ());
    let stages = stages(ran.ended(1));
    assert_eq!(stages[0]["result"], "came-back");
    assert!(stages[0]["watched_seconds"].as_u64().unwrap() < 20, "{stages:?}");
}

#[test]
fn messages_that_nobody_receives_end_it() {
    let aws = with_letters(3, &["panic"]);
    let ran = aws.redrive("dlq retry --queue orders --yes --watch --stages 1,all --wait 1s");
    ran.ended(1).stderr_has("redrive: stage 1 of 2: orders has 1 message after ");
    ran.stderr_ends(
        ", no fewer than with this stage: does a consumer receive them?; the other letters stay in orders-dead\n",
    );
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((1, 0), (2, 0)));
}

#[test]
fn sent_letters_are_watched_although_others_of_the_stage_failed() {
    for (succeeds, end) in [
        (true, "redrive: 1 letter was not sent\n"),
        (false, "redrive: 1 letter was not sent; stage 1 of 2: "),
    ] {
        let aws = with_letters(4, &["panic"]);
        let fate = at_first(1, "SendMessageBatch", Fate::EntriesFail(vec![1], "InvalidMessageContents"));
        let proxy = Proxy::start(&aws.url, fate);
        let line = "dlq retry --queue orders --yes --watch --stages 3,all --wait 30s --json";
        let line = if succeeds { line.replace("30s", "2s") } else { line.to_owned() };
        let ran = beside_consumer(&aws, &|| proxy.redrive(&line), succeeds, &|_, _, _| ());
        let stages = stages(ran.ended(1));
        assert_eq!((stages.len(), &stages[0]["sent"]), (1, &json!(2)));
        ran.stderr_has(end);
    }
}

#[test]
fn letters_that_arrive_meanwhile_stay() {
    let aws = with_letters(2, &["panic"]);
    (0..3).for_each(|number| drop(aws.letter(&number.to_string())));
    let has_arrived = AtomicBool::new(false);
    let handler = |aws: &Aws, _: &str, _: &str| {
        if !has_arrived.swap(true, Ordering::Relaxed) {
            (5..10).for_each(|number| drop(aws.letter(&number.to_string())));
        }
    };
    let line = "dlq retry --queue orders --yes --where 'reason = redrive-policy' --watch --stages 1,all --wait 3s --json";
    let ran = with_consumer(&aws, line, true, &handler);
    let sent: Vec<_> = stages(ran.ended(0)).iter().map(|stage| stage["sent"].clone()).collect();
    assert_eq!((sent, aws.counts(DEAD)), (vec![json!(1), json!(2)], (7, 0)));
    ran.stdout_has(r#""arrived after the start":5"#);
}

/// SQS keeps the send time of a message that it moves, so only the number tells.
#[test]
fn all_stages_send_no_more_letters_than_there_were_at_the_start() {
    let aws = with_letters(3, &["panic"]);
    (0..4).for_each(|number| drop(aws.send(ORDERS, &number.to_string())));
    let receive = |timeout| {
        let receive = aws.sqs.receive_message().queue_url(aws.queue_url(ORDERS)).max_number_of_messages(10);
        aws.wait(receive.visibility_timeout(timeout).send()).expect("it answers").messages.unwrap()
    };
    let held = std::sync::Mutex::new([0, 0, 600].map(receive).into_iter().last().unwrap());
    let handler = |aws: &Aws, _: &str, _: &str| {
        for message in held.lock().unwrap().drain(..) {
            let back = aws.sqs.change_message_visibility().queue_url(aws.queue_url(ORDERS));
            let back = back.set_receipt_handle(message.receipt_handle).visibility_timeout(0);
            aws.wait(back.send()).expect("it is visible");
        }
    };
    let line = "dlq retry --queue orders --yes --watch --stages 1,all --wait 3s --json";
    let ran = with_consumer(&aws, line, true, &handler);
    let sent: Vec<_> = stages(ran.ended(0)).iter().map(|stage| stage["sent"].clone()).collect();
    assert_eq!((sent, aws.counts(DEAD)), (vec![json!(1), json!(2)], (4, 0)));
}

#[test]
fn letters_that_a_fifo_queue_hides_behind_others_end_it_too() {
    let aws = Aws::with_orders(true);
    for number in 0..15 {
        write_in_group(&aws, "a", &number.to_string(), "panic");
    }
    let line = "dlq retry --queue orders.fifo --yes --watch --stages 1,all --wait 4s";
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| aws.redrive(line));
        until("the first stage", || aws.counts("orders.fifo").0 == 1);
        drain(&aws, "orders.fifo");
        write_in_group(&aws, "a", "again", "panic");
        run.join().unwrap()
    });
    ran.ended(1).stderr_has("orders-dead.fifo has 1 letter more");
}

#[test]
fn an_interrupted_watch_is_resumed_and_no_message_is_twice() {
    let aws = with_letters(30, &["panic"]);
    let run = spawn(&aws.url, &format!("{STAGES} --wait 60s"), Path::new("."));
    until("the first stage", || aws.counts(ORDERS).0 == 10 && aws.counts(DEAD) == (20, 0));
    std::thread::sleep(Duration::from_millis(500));
    signal("-INT", &run);
    let ran = Ran::end(run);
    ran.ended(130)
        .stderr_has("stage 1 of 3: 0 of 10 letters came back so far; run it again for the rest: interrupted");
    assert_eq!(aws.counts(DEAD), (20, 0));
    let ran = aws.redrive("dlq retry --queue orders --yes --watch --stages 5,all --wait 1s");
    ran.ended(1).stderr_has("does a consumer receive them?");
    aws.redrive("dlq retry --queue orders --yes").ended(0);
    let all = bodies(&aws, ORDERS);
    assert_eq!((all.len(), distinct(&all)), (30, 30));
}

#[test]
fn the_question_names_the_stages() {
    let aws = with_letters(3, &["panic"]);
    let mut terminal = Terminal::redrive(&aws, "dlq retry --queue orders --watch --stages 1,2,all");
    terminal.expect("to orders in stages of 1, 2 and the rest?");
    terminal.enter("n");
    terminal.ends(1);
}

#[test]
fn the_wait_is_that_of_the_functions_backoff() {
    let backoff = r#"{"kind": "fixed", "delay": 120}"#.to_owned();
    let function = FunctionConfig {
        name: "worker".to_owned(),
        command: built("puppet"),
        environment: BTreeMap::from([("REDRIVE_BACKOFF".to_owned(), backoff)]),
        ..FunctionConfig::default()
    };
    let (queue, function_name) = (ORDERS.to_owned(), "worker".to_owned());
    let mapping =
        MappingConfig { queue, function: function_name, enabled: false, ..MappingConfig::default() };
    let aws = Aws::of(Config {
        queues: orders(false),
        functions: vec![function],
        mappings: vec![mapping],
        ..Config::default()
    });
    let denied = |call| Proxy::refusing(&aws.url, [(call, "AccessDeniedException", "not you")]);
    let (no_mappings, no_function) = (denied("/event-source-mappings"), denied("/configuration"));
    const WARNING: &str = "warning: --wait assumes redrive's default backoff: could not ";
    for (url, warning, expected) in [
        (&aws.url, "", "for up to 6m 20s (--wait)\n"),
        (
            &no_mappings.url,
            "read the event source mappings of orders: not allowed",
            "for up to 1m 50s (--wait)\n",
        ),
        (&no_function.url, "read the backoff of worker: not allowed", "for up to 1m 50s (--wait)\n"),
    ] {
        aws.letter("one");
        let mut run = spawn(url, "dlq retry --queue orders --yes --watch", Path::new("."));
        let (mut stderr, mut line) = (BufReader::new(run.stderr.take().unwrap()), String::new());
        stderr.read_line(&mut line).unwrap();
        if !warning.is_empty() {
            assert!(line.starts_with(&format!("{WARNING}{warning}")), "{line}");
            line.clear();
            stderr.read_line(&mut line).unwrap();
        }
        assert!(
            line.starts_with("redrive: stage 1 of 1: watching orders-dead ") && line.ends_with(expected),
            "{line}"
        );
        signal("-INT", &run);
        assert_eq!(run.wait().unwrap().code(), Some(130));
    }
}

#[test]
fn letters_that_were_not_tried_in_time_end_it() {
    let aws = with_letters(20, &["panic"]);
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| aws.redrive(&format!("{STAGES} --wait 4s --json")));
        until("the first stage", || aws.counts(ORDERS).0 == 10);
        let receive = aws.sqs.receive_message().queue_url(aws.queue_url(ORDERS)).max_number_of_messages(4);
        for message in aws.wait(receive.send()).expect("it answers").messages() {
            let delete = aws.sqs.delete_message().queue_url(aws.queue_url(ORDERS));
            aws.wait(delete.set_receipt_handle(message.receipt_handle.clone()).send()).unwrap();
        }
        run.join().unwrap()
    });
    assert_eq!(stages(ran.ended(1))[0]["result"], "unsettled");
    ran.stderr_has("so not all letters may have been tried; the other letters stay in orders-dead");
    assert_eq!(aws.counts(DEAD), (10, 0));
}

#[test]
fn letters_that_redrive_wrote_again_tell_whether_the_error_is_the_same() {
    for (reason, expected) in [("panic", "with the same error"), ("timeout", "with another error")] {
        let aws = with_letters(5, &["panic"]);
        let line = "dlq retry --queue orders --yes --watch --stages 2,all --wait 30s";
        let ran = with_consumer(&aws, line, true, &writes(reason));
        ran.ended(1).stderr_has(" of 2 letters came back: ").stderr_has(expected);
        ran.printed(1, "2 sent from orders-dead to orders\n");
        assert_eq!(aws.counts(DEAD), (5, 0), "those that came back are visible again");
    }
}

#[test]
fn a_consumer_that_sends_another_message_is_known_by_the_origin() {
    let aws = with_letters(3, &["panic"]);
    let origins = std::sync::Mutex::new(0);
    let handler = |aws: &Aws, _: &str, body: &str| {
        let mut origins = origins.lock().unwrap();
        let origin = json!({ "message_id": format!("m{body}"), "redrives": 1 }).to_string();
        let send = aws.sqs.send_message().queue_url(aws.queue_url(DEAD)).message_body("another");
        aws.wait(send.message_attributes("redrive.origin", text(&origin)).send()).expect("it is sent");
        *origins += 1;
    };
    let line = "dlq retry --queue orders --yes --watch --stages 1,all --wait 30s";
    let ran = with_consumer(&aws, line, true, &handler);
    ran.ended(1).stderr_has("1 of 1 letter came back: 1 without a note");
}

#[test]
fn after_a_kill_the_next_run_names_the_letters_that_may_be_twice() {
    let aws = with_letters(30, &["panic"]);
    let folder = tempfile::tempdir().unwrap();
    let journal = format!("--journal {}", folder.path().display());
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_millis(300))));
    let mut run = spawn(&proxy.url, &format!("{STAGES} --wait 60s {journal}"), Path::new("."));
    until("a send", || !proxy.sizes("SendMessageBatch").is_empty());
    signal("-KILL", &run);
    run.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    aws.skip(61);
    let ran = aws.redrive(&format!("dlq retry --queue orders --yes --dry-run {journal}"));
    ran.ended(0).stderr_count("possible duplicate: an earlier run was sending letter ", 10);
}
