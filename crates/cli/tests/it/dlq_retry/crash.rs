//! Concurrent runs, Ctrl-C and SIGKILL: no letter is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::letters::{DEAD, ORDERS, bodies, distinct, with_letters, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::running::{signal, until};
use crate::support::{Aws, Ran, at_first, command_at, on, process, spawn};
use crate::terminal::Terminal;

fn start(url: &str, more: &str) -> Child {
    spawn(url, &format!("dlq retry --queue orders --yes {more}"), Path::new("."))
}

/// Every send takes a while, so that there is a middle.
fn slow(aws: &Aws) -> Proxy {
    Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_millis(200))))
}

/// Sends all letters, which cannot be deleted.
fn send_only(url: &str, journal: &str) {
    let proxy = Proxy::start(url, on("DeleteMessageBatch", Fate::Refused(403, "AccessDeniedException")));
    proxy.redrive(&format!("dlq retry --queue orders --yes {journal}")).ended(1);
}

/// Waits until so many batches were sent or are being sent.
fn until_sent(proxy: &Proxy, batches: usize) {
    until("sends", || proxy.sizes("SendMessageBatch").len() >= batches);
}

#[test]
fn fifty_letters_retried_by_four_processes_at_once_arrive_once_each() {
    let aws = with_letters(50, &["rejected", "panic"]);
    let runs: Vec<_> = (0..4).map(|_| start(&aws.url, "--json")).collect();
    let runs: Vec<_> = runs.into_iter().map(Ran::end).collect();
    let sent: usize = runs.iter().map(|ran| ran.stdout.matches("\"result\":\"sent\"").count()).sum();
    let twice: usize = runs.iter().map(|ran| ran.stdout.matches("\"possible-duplicate\"").count()).sum();
    let all = bodies(&aws, ORDERS);
    assert_eq!(distinct(&all), 50, "{runs:?}");
    assert_eq!((sent + twice, all.len()), (50 + twice, 50 + twice), "{runs:?}");
    assert_eq!(aws.counts(DEAD), (0, 0));
}

#[test]
fn ctrl_c_finishes_the_batch_and_makes_held_letters_visible_again() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 40);
    let proxy = slow(&aws);
    let run = start(&proxy.url, "--where 'reason = panic'");
    until_sent(&proxy, 2);
    signal("-INT", &run);
    let ran = Ran::end(run);
    ran.ended(130).stderr_has("interrupted, and the ");
    let (sent, left) = (aws.counts(ORDERS), aws.counts(DEAD));
    assert!((1..20).contains(&sent.0), "{sent:?}");
    assert_eq!((sent.0 + left.0, left.1), (40, 0), "nothing is lost, and nothing stays hidden");
    ran.stdout_starts(format!("{} sent from orders-dead to orders", sent.0));
}

#[test]
fn after_a_kill_only_the_batch_in_flight_may_arrive_twice() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = slow(&aws);
    let mut run = start(&proxy.url, "");
    until_sent(&proxy, 3);
    // The third batch is on its way, and the proxy will deliver it to a client that is gone.
    signal("-KILL", &run);
    run.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let hidden = aws.counts(DEAD).1;
    assert!(hidden > 0, "some are hidden still");
    aws.redrive("dlq retry --queue orders --yes --dry-run")
        .ended(0)
        .stderr_has(format!("about {hidden} more were in flight"));
    aws.skip(61);
    let ran = aws.redrive("dlq retry --queue orders --yes");
    assert_eq!((ran.code, aws.counts(DEAD)), (0, (0, 0)), "{}", ran.stderr);
    let all = bodies(&aws, ORDERS);
    assert_eq!(distinct(&all), 45, "nothing is lost");
    assert!(all.len() <= 45 + 10, "{} arrived", all.len());
}

#[test]
fn after_a_kill_the_next_run_names_the_letters_that_arrive_twice() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let folder = tempfile::tempdir().unwrap();
    let journal = format!("--journal {}", folder.path().display());
    let bodies_of: BTreeMap<String, String> = aws
        .redrive("dlq list --queue orders --json")
        .json_lines()
        .iter()
        .map(|letter| ["id", "body"].map(|field| letter[field].as_str().unwrap().to_owned()))
        .map(|[id, body]| (id, body))
        .collect();
    let proxy = slow(&aws);
    let mut run = start(&proxy.url, &journal);
    until_sent(&proxy, 3);
    signal("-KILL", &run);
    run.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    aws.skip(61);
    let dry = aws.redrive(&format!("dlq retry --queue orders --dry-run {journal}"));
    dry.ended(0).stderr_starts("redrive: an earlier run sent, or may have sent, ");
    let named_in = |ran: &Ran| -> BTreeSet<String> {
        let lines =
            ran.stderr.lines().filter_map(|line| line.split_once("possible duplicate: an earlier run "));
        lines
            .filter_map(|(_, rest)| Some(rest.split_once(" letter ")?.1.split(' ').next()?.to_owned()))
            .collect()
    };
    let ran = aws.redrive(&format!("dlq retry --queue orders --yes --json {journal}"));
    let named = named_in(&ran);
    assert_eq!(named_in(&dry), named);
    ran.ended(1).stderr_ends(format!("redrive: {} messages may arrive twice\n", named.len()));
    ran.stdout_count("\"possible-duplicate\"", named.len());
    let all = bodies(&aws, ORDERS);
    assert_eq!(distinct(&all), 45, "nothing is lost");
    let twice: BTreeSet<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    let named: BTreeSet<_> = named.iter().map(|id| &bodies_of[id]).collect();
    assert!(!twice.is_empty() && twice.is_subset(&named), "{twice:?} {named:?}");
    assert!(named.len() <= 40, "{named:?}");
    let left = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["history.jsonl"], "nothing is open any more");
}

#[test]
fn letters_that_become_visible_while_another_worker_sends_are_sent_too() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 65);
    let in_flight = aws.wait(async {
        let call = aws.sqs.receive_message().queue_url(aws.queue_url(DEAD)).max_number_of_messages(5);
        call.visibility_timeout(30).send().await.unwrap().messages().len()
    });
    let slow = at_first(1, "SendMessageBatch", Fate::Delayed(Duration::from_secs(5)));
    let proxy = Proxy::start(&aws.url, slow);
    let run = start(&proxy.url, "");
    until("the other worker", || aws.counts(ORDERS).0 == 50);
    std::thread::sleep(Duration::from_secs(3));
    aws.skip(31);
    Ran::end(run).printed(0, "65 sent from orders-dead to orders\n");
    assert_eq!((in_flight, aws.counts(DEAD)), (5, (0, 0)));
}

#[test]
fn a_journal_that_cannot_be_read_is_said_before_anything_is_promised() {
    let aws = Aws::with_orders(false);
    aws.letter("1");
    let parent = tempfile::tempdir().unwrap();
    let dry = |folder: &Path| {
        aws.redrive(&format!("dlq retry --queue orders --dry-run --journal {}", folder.display()))
    };
    let folder = parent.path().join("loop");
    assert_eq!(dry(&folder).ended(0).stderr, "", "there was no run");
    std::os::unix::fs::symlink(&folder, &folder).unwrap();
    dry(&folder).ended(0).stderr_starts(format!("warning: could not read {}: ", folder.display()));
}

#[test]
fn letters_that_a_stopped_run_has_sent_are_only_deleted() {
    let aws = Aws::with_orders(false);
    (0..2).for_each(|number| drop(aws.letter(&number.to_string())));
    let folder = tempfile::tempdir().unwrap();
    let journal = format!("--journal {}", folder.path().display());
    let proxy = Proxy::start(&aws.url, on("DeleteMessageBatch", Fate::Delayed(Duration::from_secs(600))));
    let mut stopped = start(&proxy.url, &journal);
    until("it deletes", || !proxy.sizes("DeleteMessageBatch").is_empty());
    signal("-STOP", &stopped);
    // The letters are visible again, and old enough for a run that has ended.
    aws.skip(600);
    aws.redrive(&format!("dlq retry --queue orders --yes {journal}"))
        .printed(0, "0 sent from orders-dead to orders, 2 sent by an earlier run were deleted\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((2, 0), (0, 0)));
    signal("-KILL", &stopped);
    stopped.wait().unwrap();
}

#[test]
fn a_question_tells_which_letters_are_only_deleted() {
    let aws = Aws::with_orders(false);
    (0..2).for_each(|number| drop(aws.letter(&number.to_string())));
    let folder = tempfile::tempdir().unwrap();
    let journal = format!("--journal {}", folder.path().display());
    send_only(&aws.url, &journal);
    let ask = |expected: &str| {
        let mut terminal = Terminal::redrive(&aws, &format!("dlq retry --queue orders {journal}"));
        terminal.expect(expected);
        terminal.enter("n");
        terminal.ends(1);
    };
    ask("Delete 2 letters that an earlier run sent from orders-dead");
    aws.letter("3");
    ask("Send 1 of 3 letters in orders-dead to orders, and delete 2 letters that an earlier run sent");
}

#[test]
fn edit_and_triage_ask_about_letters_that_were_sent() {
    let aws = Aws::with_orders(false);
    let ids = [aws.letter("1"), aws.letter("2")];
    let folder = tempfile::tempdir().unwrap();
    let journal = format!("--journal {}", folder.path().display());
    send_only(&aws.url, &journal);
    let edit = |more: &str| {
        let line = format!("dlq retry --queue orders --edit --yes {more} {journal}");
        Ran::of(command_at(&aws.url, &line).env("VISUAL", "sed -i s/1/edited/"))
    };
    edit("").ended(1).stderr_has(format!("letter {} stays: an earlier run sent it as ", ids[0]));
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((2, 0), (2, 0)));
    edit(&format!("--send-again --where 'id = {}'", ids[0])).ended(1).stderr_has("possible duplicate");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (1, 0)));
    for (key, left) in [("q", 1), ("r", 0)] {
        let mut terminal = Terminal::redrive(&aws, &format!("dlq triage --queue orders {journal}"));
        terminal.expect(" by an earlier run");
        terminal.expect_end("q quit: ");
        terminal.type_in(key);
        terminal.ends(0);
        assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (left, 0)), "{}", terminal.screen());
    }
}

#[test]
fn letters_that_others_finish_while_it_runs_are_no_failure() {
    let aws = Aws::with_orders(false);
    aws.letter("of others");
    let receive = aws.sqs.receive_message().queue_url(aws.queue_url(DEAD)).visibility_timeout(600);
    let held = aws.wait(receive.send()).unwrap().messages.unwrap().remove(0);
    aws.letter("ours");
    let proxy = slow(&aws);
    let run = start(&proxy.url, "");
    until_sent(&proxy, 1);
    let delete = aws.sqs.delete_message().queue_url(aws.queue_url(DEAD));
    aws.wait(delete.set_receipt_handle(held.receipt_handle).send()).unwrap();
    Ran::end(run).printed(0, "1 sent from orders-dead to orders\n");
}

#[test]
fn a_second_ctrl_c_names_the_letters_that_are_on_their_way() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("1");
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Delayed(Duration::from_secs(8))));
    let run = start(&proxy.url, "");
    until_sent(&proxy, 1);
    signal("-INT", &run);
    std::thread::sleep(Duration::from_millis(500));
    signal("-INT", &run);
    Ran::end(run).ended(130).stderr_has(format!("possible duplicate: letter {id} was being sent"));
    assert_eq!(aws.counts(DEAD), (1, 0), "it is visible again");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stdout_does_not_hide_what_was_sent() {
    let aws = with_letters(3, &["panic"]);
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let output = process(&aws.url, "dlq retry --queue orders --yes").stdout(full).output();
    Ran::new(&output.expect("the command runs"))
        .ended(1)
        .stderr_has("redrive: could not write to stdout, but 3 sent from orders-dead to orders: ");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (0, 0)));
}

#[test]
fn a_third_ctrl_c_does_not_wait_for_an_aws_that_is_silent() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("1");
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" | "ChangeMessageVisibilityBatch" => Fate::Delayed(Duration::from_secs(25)),
        _ => Fate::Answered,
    });
    let run = start(&proxy.url, "");
    until_sent(&proxy, 1);
    let began = Instant::now();
    for _ in 0..3 {
        signal("-INT", &run);
        std::thread::sleep(Duration::from_millis(500));
    }
    let ran = Ran::end(run);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    ran.ended(130)
        .stderr_has(format!("possible duplicate: letter {id} was being sent"))
        .stderr_ends("in flight stay hidden for up to 60 s\n");
}

#[test]
fn ctrl_c_does_not_wait_until_aws_throttles_no_more() {
    let aws = with_letters(3, &["rejected"]);
    let proxy = Proxy::start(&aws.url, on("SendMessageBatch", Fate::Refused(400, "RequestThrottled")));
    let run = start(&proxy.url, "");
    until_sent(&proxy, 3);
    signal("-INT", &run);
    let ran = Ran::end(run);
    assert_eq!((ran.code, proxy.entries(&["SendMessageBatch"]).len()), (1, 3), "{}", ran.stderr);
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((0, 0), (3, 0)));
}

#[test]
fn ctrl_c_waits_for_the_delete_of_what_was_sent_though_aws_throttles() {
    let aws = with_letters(3, &["rejected"]);
    let proxy =
        Proxy::start(&aws.url, at_first(4, "DeleteMessageBatch", Fate::Refused(400, "RequestThrottled")));
    let run = start(&proxy.url, "");
    until("a delete", || !proxy.sizes("DeleteMessageBatch").is_empty());
    signal("-INT", &run);
    Ran::end(run).printed(130, "3 sent from orders-dead to orders\n");
    assert_eq!((aws.counts(ORDERS), aws.counts(DEAD)), ((3, 0), (0, 0)));
}
