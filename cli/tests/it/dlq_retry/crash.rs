//! Several at once, Ctrl-C and SIGKILL: nothing is lost.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::letters::{DEAD, ORDERS, bodies, counts, distinct, skip, write, write_many};
use crate::proxy::{Fate, Proxy};
use crate::support::{Aws, REGION, Ran};

fn spawn(url: &str, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args(["dlq", "retry", "--queue", ORDERS, "--yes", "--endpoint-url", url, "--region", REGION]);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("AWS_PROFILE").spawn().expect("the command runs")
}

fn signal(name: &str, child: &Child) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// Every send takes a while, so that there is a middle.
fn slow(aws: &Aws) -> Proxy {
    Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::Delayed(Duration::from_millis(200)),
        _ => Fate::Answered,
    })
}

/// Waits until so many batches were sent or are being sent.
fn until_sent(proxy: &Proxy, batches: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while proxy.entries(&["SendMessageBatch"]).len() < batches {
        assert!(Instant::now() < deadline, "{:?}", proxy.calls());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn fifty_letters_retried_by_four_processes_at_once_arrive_once_each() {
    let aws = Aws::with_orders(false);
    write(&aws, 50, &["rejected", "panic"]);
    let runs: Vec<_> = (0..4).map(|_| spawn(&aws.url, &["--json"])).collect();
    let runs: Vec<_> = runs.into_iter().map(|run| Ran::new(&run.wait_with_output().unwrap())).collect();
    let sent: usize = runs.iter().map(|ran| ran.stdout.matches("\"result\":\"sent\"").count()).sum();
    let twice: usize = runs.iter().map(|ran| ran.stdout.matches("\"possible-duplicate\"").count()).sum();
    let all = bodies(&aws, ORDERS);
    assert_eq!(distinct(&all), 50, "{runs:?}");
    assert_eq!((sent + twice, all.len()), (50 + twice, 50 + twice), "{runs:?}");
    assert_eq!(counts(&aws, DEAD), (0, 0));
}

#[test]
fn ctrl_c_finishes_the_batch_and_makes_held_letters_visible_again() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 40);
    let proxy = slow(&aws);
    let run = spawn(&proxy.url, &["--where", "reason = panic"]);
    until_sent(&proxy, 2);
    signal("-INT", &run);
    let ran = Ran::new(&run.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted, and the "), "{}", ran.stderr);
    let (sent, left) = (counts(&aws, ORDERS), counts(&aws, DEAD));
    assert!((1..20).contains(&sent.0), "{sent:?}");
    assert_eq!((sent.0 + left.0, left.1), (40, 0), "nothing is lost, and nothing stays hidden");
    assert!(ran.stdout.starts_with(&format!("{} sent from orders-dead to orders", sent.0)), "{}", ran.stdout);
}

#[test]
fn after_a_kill_the_next_run_finishes_the_job_and_only_the_batch_in_flight_may_be_twice() {
    let aws = Aws::with_orders(false);
    write_many(&aws, 45);
    let proxy = slow(&aws);
    let mut run = spawn(&proxy.url, &[]);
    until_sent(&proxy, 3);
    // The third batch is on its way, and the proxy will deliver it to a client that is gone.
    signal("-KILL", &run);
    run.wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let hidden = counts(&aws, DEAD).1;
    assert!(hidden > 0, "some are hidden still");
    let early = aws.redrive(&["dlq", "retry", "--queue", ORDERS, "--yes", "--dry-run"]);
    let expected = format!("about {hidden} more were in flight");
    assert!(early.code == 0 && early.stderr.contains(&expected), "{}", early.stderr);
    skip(&aws, 61);
    let ran = aws.redrive(&["dlq", "retry", "--queue", ORDERS, "--yes"]);
    assert_eq!((ran.code, counts(&aws, DEAD)), (0, (0, 0)), "{}", ran.stderr);
    let all = bodies(&aws, ORDERS);
    assert_eq!(distinct(&all), 45, "nothing is lost");
    assert!(all.len() <= 45 + 10, "{} arrived", all.len());
}

#[test]
fn a_second_ctrl_c_names_the_letters_that_are_on_their_way() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("1");
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::Delayed(Duration::from_secs(8)),
        _ => Fate::Answered,
    });
    let run = spawn(&proxy.url, &[]);
    until_sent(&proxy, 1);
    signal("-INT", &run);
    std::thread::sleep(Duration::from_millis(500));
    signal("-INT", &run);
    let ran = Ran::new(&run.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    let expected = format!("possible duplicate: letter {id} was on its way");
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    assert_eq!(counts(&aws, DEAD), (1, 0), "it is visible again");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stdout_does_not_hide_what_was_sent() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["panic"]);
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args([
        "dlq",
        "retry",
        "--queue",
        ORDERS,
        "--yes",
        "--endpoint-url",
        &aws.url,
        "--region",
        REGION,
    ]);
    let command = command.env_remove("AWS_PROFILE").stdin(Stdio::null()).stdout(full);
    let ran = Ran::new(&command.output().expect("the command runs"));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let expected = "redrive: could not write to stdout, but 3 sent from orders-dead to orders: ";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (0, 0)));
}

#[test]
fn a_third_ctrl_c_does_not_wait_for_an_aws_that_is_silent() {
    let aws = Aws::with_orders(false);
    let id = aws.letter("1");
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" | "ChangeMessageVisibilityBatch" => Fate::Delayed(Duration::from_secs(25)),
        _ => Fate::Answered,
    });
    let run = spawn(&proxy.url, &[]);
    until_sent(&proxy, 1);
    let began = Instant::now();
    for _ in 0..3 {
        signal("-INT", &run);
        std::thread::sleep(Duration::from_millis(500));
    }
    let ran = Ran::new(&run.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(
        ran.stderr.contains(&format!("possible duplicate: letter {id} was on its way")),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with("that were held stay hidden for up to 60 s\n"), "{}", ran.stderr);
}

#[test]
fn ctrl_c_does_not_wait_until_aws_throttles_no_more() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "SendMessageBatch" => Fate::Refused(400, "RequestThrottled"),
        _ => Fate::Answered,
    });
    let run = spawn(&proxy.url, &[]);
    until_sent(&proxy, 3);
    signal("-INT", &run);
    let ran = Ran::new(&run.wait_with_output().unwrap());
    assert_eq!((ran.code, proxy.entries(&["SendMessageBatch"]).len()), (1, 3), "{}", ran.stderr);
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((0, 0), (3, 0)));
}

#[test]
fn ctrl_c_waits_for_the_delete_of_what_was_sent_though_aws_throttles() {
    let aws = Aws::with_orders(false);
    write(&aws, 3, &["rejected"]);
    let proxy = Proxy::start(&aws.url, |call, before| match call.action.as_str() {
        "DeleteMessageBatch" if before < 4 => Fate::Refused(400, "RequestThrottled"),
        _ => Fate::Answered,
    });
    let run = spawn(&proxy.url, &[]);
    let deadline = Instant::now() + Duration::from_secs(30);
    while proxy.entries(&["DeleteMessageBatch"]).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", proxy.calls());
        std::thread::sleep(Duration::from_millis(5));
    }
    signal("-INT", &run);
    let ran = Ran::new(&run.wait_with_output().unwrap());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (130, "3 sent from orders-dead to orders\n"),
        "{}",
        ran.stderr
    );
    assert_eq!((counts(&aws, ORDERS), counts(&aws, DEAD)), ((3, 0), (0, 0)));
}
