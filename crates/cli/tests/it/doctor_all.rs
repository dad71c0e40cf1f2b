//! `redrive doctor --all`: all queues of an account, with redrive-local as that account.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{AlarmConfig, Config, FunctionConfig, MappingConfig, QueueConfig};
use serde_json::{Value, json};

use crate::proxy::{Call, Fate, Proxy};
use crate::support::running::built;
use crate::support::{ACCOUNT, Aws, REGION, Ran, command_at};

/// Writes to the clipboard and begins a line.
const HOSTILE: &str = "\x1b]52;c;RkFLRQ==\x07\r\nFAKE";

fn queue<const N: usize>(name: &str, attributes: [(&str, &str); N]) -> QueueConfig {
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
    QueueConfig { name: name.to_owned(), attributes: BTreeMap::from(attributes) }
}

/// Ten deliveries, and then that queue.
fn with_letters_in(name: &str, dead: &str) -> QueueConfig {
    let target = format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{dead}");
    let policy = json!({ "deadLetterTargetArn": target, "maxReceiveCount": 10 }).to_string();
    queue(name, [("RedrivePolicy", policy.as_str())])
}

/// Of so many seconds.
fn with_visibility(seconds: u32, mut queue: QueueConfig) -> QueueConfig {
    queue.attributes.insert("VisibilityTimeout".to_owned(), seconds.to_string());
    queue
}

fn function(name: &str) -> FunctionConfig {
    let timeout = Duration::from_secs(5);
    FunctionConfig { name: name.to_owned(), command: built("puppet"), timeout, ..FunctionConfig::default() }
}

fn mapping(queue: &str, function: &str) -> MappingConfig {
    let (queue, function) = (queue.to_owned(), function.to_owned());
    MappingConfig { queue, function, report_batch_item_failures: true, ..MappingConfig::default() }
}

fn alarm(name: &str, queue: &str) -> AlarmConfig {
    AlarmConfig { name: name.to_owned(), ..AlarmConfig::depth_of(queue) }
}

/// `worst` and `bad` have errors, `short` a warning, `alone` and `fine` nothing; `fine` and `fine-too` share their letters.
fn account() -> Aws {
    const LONG: (&str, &str) = ("MessageRetentionPeriod", "1209600");
    Aws::of(Config {
        queues: vec![
            queue("bad-dead", [LONG]),
            queue("short-dead", [LONG]),
            queue("fine-dead", [LONG]),
            queue("alone", []),
            with_letters_in("bad", "bad-dead"),
            with_visibility(10, with_letters_in("short", "short-dead")),
            with_letters_in("fine", "fine-dead"),
            with_letters_in("fine-too", "fine-dead"),
            with_visibility(10, queue("worst", [])),
        ],
        functions: vec![function("worker"), function("idler")],
        mappings: vec![
            MappingConfig { report_batch_item_failures: false, ..mapping("worst", "worker") },
            mapping("short", "idler"),
        ],
        alarms: vec![alarm("short", "short-dead"), alarm(HOSTILE, "fine-dead")],
        ..Config::default()
    })
}

/// Alarms of redrive-local do nothing.
const EXCEPT: [&str; 2] = ["--except", "alarm-without-action"];

fn all(url: &str, arguments: &[&str]) -> Ran {
    Ran::of(&mut command_at(url, &[&["doctor", "--all"], &EXCEPT[..], arguments].concat()))
}

/// Each code with the name of its group.
fn codes(ran: &Ran) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let groups = ran.json_lines();
    let of = |group: &Value| {
        let findings = group["findings"].as_array().expect("it is a list").iter();
        let codes = findings.map(|finding| (text(&group["subject"]), text(&finding["code"])));
        codes.collect::<Vec<_>>()
    };
    groups.iter().flat_map(of).collect()
}

fn not_seen(ran: &Ran) -> Vec<String> {
    let groups = ran.json_lines();
    let notes = groups.iter().flat_map(|group| group["not_seen"].as_array().expect("it is a list"));
    notes.map(|note| note.as_str().expect("it is a text").to_owned()).collect()
}

#[test]
fn all_queues_are_checked_in_groups_and_the_worst_comes_first() {
    let aws = account();
    let ran = all(&aws.url, &["--json"]);
    let found: Vec<_> = ran
        .ended(1)
        .json_lines()
        .iter()
        .map(|it| (it["subject"].clone(), it["errors"].clone(), it["warnings"].clone()))
        .collect();
    let whole = format!("9 queues of account {ACCOUNT}, {REGION}");
    let expected =
        [("worst", 2, 1), ("bad", 1, 0), ("short", 0, 1), ("alone", 0, 0), ("fine", 0, 0), (&whole, 0, 0)];
    assert_eq!(
        found,
        expected.map(|(name, errors, warnings)| (json!(name), json!(errors), json!(warnings))),
        "{ran:?}"
    );
    let known = [("bad", "dead-letter-alarm-missing"), ("short", "visibility-too-short")];
    let codes = codes(&ran);
    for (group, code) in known {
        assert!(codes.contains(&(group.to_owned(), code.to_owned())), "{codes:?}");
    }
    let notes = not_seen(&ran);
    assert_eq!(notes.iter().filter(|note| note.contains("permissions")).count(), 1, "{notes:?}");
}

#[test]
fn people_are_told_only_of_what_is_wrong_and_how_much_that_is() {
    let aws = account();
    let ran = all(&aws.url, &[]);
    let titles: Vec<_> =
        ran.stdout.lines().filter(|line| line.contains(" at ") && !line.starts_with(' ')).collect();
    assert!(titles[0].starts_with("error ") && titles[0].ends_with(" (worst)"), "{titles:?}");
    let is_of = |name: &str| titles.iter().any(|title| title.contains(name));
    assert!(is_of(" at bad-dead (bad)") && !is_of("fine"), "{titles:?}");
    ran.stderr_count("framework", 0).ended(1);
    let told = format!(
        "redrive: 3 errors, 2 warnings in 9 queues of account {ACCOUNT}, {REGION}; checked 9 queues, 2 functions"
    );
    ran.stderr_has(told);
}

#[test]
fn the_exit_code_is_that_of_templates() {
    let aws = account();
    let warnings = ["--only", "visibility-too-short"];
    let told =
        |arguments: &[&str]| Ran::of(&mut command_at(&aws.url, &[&["doctor", "--all"], arguments].concat()));
    let ran = told(&warnings);
    ran.ended(0)
        .stderr_has(format!("0 errors, 2 warnings in 9 queues of account {ACCOUNT}, {REGION}; checked 9 "));
    told(&[&warnings[..], &["--strict"]].concat()).ended(1);
    told(&["--only", "drifts"]).ended(2);
    let ran = told(&["--only", "fifo-batching-window"]);
    ran.ended(0).stderr_has(format!(
        "no problems found in 9 queues of account {ACCOUNT}, {REGION}; checked 9 queues, "
    ));
    for other in [
        &["template.yaml"][..],
        &["--template", "t.yaml"],
        &["--stack", "shop"],
        &["--function", "worker"],
        &["--parameter", "A=b"],
        &["--explain", "queue-shared"],
        &["--list"],
    ] {
        told(other).ended(2).stderr_has("--all");
    }
}

#[test]
fn programs_get_it_in_their_formats() {
    let aws = account();
    let github = all(&aws.url, &["--format", "github"]);
    github
        .ended(1)
        .stdout_has("::error title=dead-letter-alarm-missing::bad: No alarm watches a metric of bad-dead.");
    github.stdout_count("file=", 0);
    all(&aws.url, &["--format", "sarif"]).ended(2).stderr_has("SARIF reports findings in files only");
}

#[test]
fn unreadable_parts_are_named_once_and_are_not_findings() {
    let aws = account();
    // Without its queue, what a function is part of is called after the function.
    let codes = |ran: &Ran| codes(ran).into_iter().map(|(_, code)| code).collect::<Vec<_>>();
    let whole = codes(&all(&aws.url, &["--json"]));
    for (call, unseen) in [
        ("/event-source-mappings", "which functions the queues feed"),
        ("DescribeAlarms", "alarms"),
        ("/concurrency", "the reserved concurrency of"),
        ("/event-invoke-config", "the destinations of"),
        ("/configuration", "the function"),
        ("GetQueueAttributes", "the queue"),
    ] {
        let denied = Proxy::refusing(&aws.url, [(call, "AccessDeniedException", "not you")]);
        let ran = all(&denied.url, &["--json"]);
        let found = codes(&ran);
        assert!(found.iter().all(|code| whole.contains(code)), "without {call}: {found:?}");
        let notes = not_seen(&ran);
        assert_eq!(
            notes.iter().filter(|note| note.starts_with(unseen)).count(),
            1,
            "without {call}: {notes:?}"
        );
    }
    let queues = Proxy::refusing(&aws.url, [("GetQueueAttributes", "AccessDenied", "not you")]);
    all(&queues.url, &["--except", "batch-response-missing"])
        .ended(0)
        .stderr_has("; and 8 others for the same reason");
    let list = Proxy::refusing(&aws.url, [("ListQueues", "AccessDenied", "not you")]);
    all(&list.url, &[])
        .refused(1, "could not list the queues: not allowed: your credentials need sqs:ListQueues");
}

#[test]
fn without_mappings_no_dead_letter_queue_is_called_unwatched() {
    let aws = account();
    let denied = Proxy::refusing(&aws.url, [("/event-source-mappings", "AccessDeniedException", "not you")]);
    let ran = all(&denied.url, &["--json"]);
    let codes = codes(&ran);
    assert!(codes.iter().all(|(_, code)| code != "dead-letter-alarm-missing"), "{codes:?}");
}

#[test]
fn more_queues_than_a_page_are_all_read_once() {
    let many = (0..1_029).map(|number| queue(&format!("queue-{number:04}"), []));
    let aws = Aws::start(
        [queue("zz-dead", [])].into_iter().chain(many).chain([with_letters_in("zz", "zz-dead")]).collect(),
    );
    let proxy = Proxy::listening(&aws.url);
    let ran = all(&proxy.url, &[]);
    ran.ended(1).stdout_has("dead-letter-alarm-missing at zz-dead (zz)");
    ran.stderr_has(format!("in 1,031 queues of account {ACCOUNT}, {REGION}; checked 1,031 queues, "));
    let calls = proxy.calls();
    let count = |action: &str| calls.iter().filter(|call| call.action == action).count();
    assert_eq!([count("ListQueues"), count("GetQueueAttributes")], [2, 1_031]);
}

#[test]
fn a_list_without_end_ends_after_ten_pages_with_a_word_about_the_others() {
    let aws = Aws::start(vec![queue("first", [])]);
    let url = aws.queue_url("first");
    let proxy = Proxy::start(&aws.url, move |call, before| match call.action.as_str() {
        "ListQueues" => Fate::Answers(json!({ "QueueUrls": [url], "NextToken": format!("after {before}") })),
        _ => Fate::Answered,
    });
    let ran = all(&proxy.url, &["--json"]);
    let notes = not_seen(ran.ended(0));
    assert_eq!(notes, ["other queues: only the first 10 pages were read"]);
    assert_eq!(proxy.calls().iter().filter(|call| call.action == "ListQueues").count(), 11);
}

#[test]
fn a_throttled_call_is_tried_again() {
    let aws = Aws::start(vec![queue("first", [])]);
    let proxy = Proxy::start(&aws.url, |call: &Call, before| match call.action.as_str() {
        "GetQueueAttributes" if before < 3 => Fate::Refused(400, "RequestThrottled"),
        _ => Fate::Answered,
    });
    let ran = all(&proxy.url, &[]);
    let told = format!("no problems found in 1 queue of account {ACCOUNT}, {REGION}");
    ran.told(0, told + "; checked 1 queue, 0 functions, 0 workers\n");
}

#[test]
fn an_account_without_queues_has_nothing_wrong() {
    let aws = Aws::start(Vec::new());
    let told =
        format!("no problems found in 0 queues of {REGION}; checked 0 queues, 0 functions, 0 workers\n");
    all(&aws.url, &[]).told(0, told).printed(0, "");
}

#[test]
fn no_name_acts_on_the_terminal() {
    let aws = account();
    let arguments = ["doctor", "--all", "--only", "alarm-without-action"];
    let ran = Ran::of(&mut command_at(&aws.url, &arguments[..]));
    let hostile = format!("{}/{ACCOUNT}/{HOSTILE}", aws.url);
    let proxy = Proxy::start(&aws.url, move |call, _| match call.action.as_str() {
        "ListQueues" => Fate::Answers(json!({ "QueueUrls": [hostile] })),
        _ => Fate::Answered,
    });
    let listed = all(&proxy.url, &[]);
    for (ran, stream) in [(&ran, &ran.stdout), (&listed, &listed.stderr)] {
        assert!(stream.contains("FAKE"), "it was shown: {ran:?}");
        assert!(!stream.contains(['\x1b', '\x07', '\r']), "{ran:?}");
        assert!(!stream.lines().any(|line| line.starts_with("FAKE")), "{ran:?}");
    }
}
