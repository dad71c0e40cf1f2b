//! `redrive fleet`: lists the dead-letter queues of several accounts, and names the unreadable ones.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use assert_cmd::Command;
use redrive_local::{Config, Local, QueueConfig};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::letters::note;
use crate::proxy::{Call, Fate, Proxy};
use crate::support::{Aws, REGION, Ran, Words, client, command, skip};
use crate::terminal::Terminal;

/// An account, and the profile of its number.
struct Account {
    id: String,
    local: Option<Local>,
    proxy: Proxy,
}

/// Accounts behind a profile each, `account1` and so on, with a proxy that writes the calls down.
struct Accounts {
    runtime: Runtime,
    folder: TempDir,
    accounts: Vec<Account>,
}

fn queue<const N: usize>(name: &str, attributes: [(&str, &str); N]) -> QueueConfig {
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
    QueueConfig { name: name.to_owned(), attributes: BTreeMap::from(attributes) }
}

/// A queue whose letters end in that one.
fn source(name: &str, account: &str, dead: &str) -> QueueConfig {
    let target = format!("arn:aws:sqs:{REGION}:{account}:{dead}");
    let policy = json!({ "deadLetterTargetArn": target, "maxReceiveCount": 3 }).to_string();
    queue(name, [("RedrivePolicy", policy.as_str())])
}

impl Accounts {
    /// With the queues of each.
    fn start<const N: usize>(queues: [impl Fn(&str) -> Vec<QueueConfig>; N]) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let (mut accounts, mut settings) = (Vec::new(), String::new());
        for (number, queues) in (1..).zip(queues) {
            let id = number.to_string().repeat(12);
            let (region, account) = (REGION.to_owned(), id.clone());
            let config = Config { region, queues: queues(&id), account, ..Config::default() };
            let mut local = runtime.block_on(Local::start(config)).expect("it starts");
            drop(local.take_events());
            let proxy = Proxy::listening(&local.endpoint_url());
            let _ = write!(
                settings,
                "[profile account{number}]\nregion = {REGION}\nendpoint_url = {}\n",
                proxy.url
            );
            accounts.push(Account { id, local: Some(local), proxy });
        }
        fs::write(folder.path().join("config"), settings).expect("the folder is ours");
        Self { runtime, folder, accounts }
    }

    fn redrive(&self, line: &(impl Words + ?Sized)) -> Ran {
        Ran::of(&mut self.command(line))
    }

    /// With this folder for the journal, as on another machine.
    fn redrive_at(&self, journal: &TempDir, line: &str) -> Ran {
        Ran::of(self.command(line).env("REDRIVE_JOURNAL", journal.path()))
    }

    fn command(&self, line: &(impl Words + ?Sized)) -> Command {
        let mut command = command(line);
        command
            .env("AWS_CONFIG_FILE", self.folder.path().join("config"))
            .env("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent");
        command
    }

    /// With all of their profiles.
    fn fleet(&self, more: &str) -> Ran {
        let profiles = (1..=self.accounts.len()).map(|number| format!(" --profile account{number}"));
        self.redrive(&format!("fleet{} {more}", profiles.collect::<String>()))
    }

    fn url(&self, number: usize) -> String {
        self.accounts[number - 1].local.as_ref().expect("it runs").endpoint_url()
    }

    fn queue_url(&self, number: usize, queue: &str) -> String {
        format!("{}/{}/{queue}", self.url(number), self.accounts[number - 1].id)
    }

    fn send(&self, number: usize, queue: &str, count: usize) {
        let sqs = client(&self.url(number), REGION);
        for at in 0..count {
            let send =
                sqs.send_message().queue_url(self.queue_url(number, queue)).message_body(at.to_string());
            self.runtime.block_on(send.send()).expect("it is sent");
        }
    }

    fn tag(&self, number: usize, queue: &str, name: &str, value: &str) {
        let sqs = client(&self.url(number), REGION);
        let tag = sqs.tag_queue().queue_url(self.queue_url(number, queue)).tags(name, value);
        self.runtime.block_on(tag.send()).expect("it is tagged");
    }

    fn skip(&self, seconds: u64) {
        for number in 1..=self.accounts.len() {
            skip(self.url(number).trim_start_matches("http://"), seconds);
        }
    }

    fn calls(&self) -> Vec<Call> {
        self.accounts.iter().flat_map(|account| account.proxy.calls()).collect()
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        for account in &mut self.accounts {
            if let Some(local) = account.local.take() {
                self.runtime.block_on(local.stop());
            }
        }
    }
}

fn names(fleet: &Value) -> Vec<&str> {
    let queues = fleet["queues"].as_array().expect("it is a list").iter();
    queues.map(|queue| queue["name"].as_str().expect("it is a text")).collect()
}

/// `shop-dead` with two sources and an owner, `bills-dead.fifo`, and a third account without letters.
fn three() -> Accounts {
    const DAY: (&str, &str) = ("MessageRetentionPeriod", "86400");
    let accounts = Accounts::start([
        |id: &str| {
            vec![
                queue("shop-dead", [("MessageRetentionPeriod", "1209600")]),
                source("shop", id, "shop-dead"),
                source("shop-too", id, "shop-dead"),
                queue("alone", []),
            ]
        },
        |id: &str| {
            let fifo = |mut queue: QueueConfig| {
                queue.attributes.insert("FifoQueue".to_owned(), "true".to_owned());
                queue.attributes.insert("ContentBasedDeduplication".to_owned(), "true".to_owned());
                queue
            };
            vec![fifo(queue("bills-dead.fifo", [DAY])), fifo(source("bills.fifo", id, "bills-dead.fifo"))]
        },
        |id: &str| vec![queue("idle-dead", []), source("idle", id, "idle-dead")],
    ]);
    accounts.send(1, "shop-dead", 3);
    accounts.send(1, "alone", 5);
    accounts.tag(1, "shop-dead", "Owner", "payments");
    let sqs = client(&accounts.url(2), REGION);
    let send = sqs.send_message().queue_url(accounts.queue_url(2, "bills-dead.fifo")).message_body("bill");
    accounts.runtime.block_on(send.message_group_id("a").send()).expect("it is sent");
    accounts.skip(3_700);
    accounts.send(1, "shop-dead", 2);
    accounts
}

#[test]
fn the_letters_of_three_accounts_are_listed_by_expiry() {
    let accounts = three();
    let fleet = accounts.fleet("--json").ended(0).json();
    assert_eq!(names(&fleet), ["bills-dead.fifo", "shop-dead"], "{fleet}");
    assert_eq!(
        (&fleet["empty"], &fleet["unreachable"], &fleet["failed"]),
        (&json!(1), &json!([]), &json!([]))
    );
    let [bills, shop] = [&fleet["queues"][0], &fleet["queues"][1]];
    assert_eq!(
        (&shop["letters"], &shop["growth_per_hour"], &shop["owner"]),
        (&json!(5), &json!(2), &json!("payments"))
    );
    assert_eq!((&shop["account"], &shop["profile"]), (&json!("1".repeat(12)), &json!("account1")));
    let arn = |name: &str| format!("arn:aws:sqs:{REGION}:111111111111:{name}");
    assert_eq!(shop["sources"], json!([arn("shop"), arn("shop-too")]));
    let age = shop["oldest_seconds"].as_u64().expect("it has an age");
    assert!((3_540..=3_760).contains(&age), "{age}");
    // Four days in the source may have passed before.
    let expires = |earliest: u64, latest: u64, age: u64| json!({ "earliest_in_seconds": earliest - age, "latest_in_seconds": latest - age });
    assert_eq!(shop["first_letter_expires"], expires(864_000, 1_209_600, age), "{shop}");
    let age = bills["oldest_seconds"].as_u64().expect("it has an age");
    assert_eq!(
        bills["first_letter_expires"],
        expires(86_400, 86_400, age),
        "a FIFO queue begins anew: {bills}"
    );
    assert_eq!(
        (&bills["letters"], &bills["growth_per_hour"], &bills["owner"]),
        (&json!(1), &json!(0), &Value::Null)
    );
    let received = accounts.calls().iter().filter(|call| call.action == "ReceiveMessage").count();
    assert_eq!(received, 0);
    let all = accounts.fleet("--json --all").json();
    assert_eq!(names(&all), ["bills-dead.fifo", "shop-dead", "idle-dead"]);
}

#[test]
fn a_snoozed_queue_is_last_until_its_letters_grow_or_it_is_woken() {
    let accounts = three();
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let journal = format!("--journal {}", folder.path().display());
    let snooze = format!("fleet snooze bills-dead.fifo --for 2d --reason known {journal} --profile account2");
    accounts.redrive(&snooze).ended(0).stdout_has("bills-dead.fifo (account 222222222222, ");
    let fleet = accounts.fleet(&format!("--json {journal}")).ended(0).json();
    assert_eq!(names(&fleet), ["shop-dead", "bills-dead.fifo"]);
    assert_eq!(
        (&fleet["queues"][0]["snoozed"], &fleet["queues"][1]["snoozed"]["reason"]),
        (&Value::Null, &json!("known"))
    );
    let shown = accounts.fleet(&format!("--wide {journal}"));
    shown.ended(0).stdout_has("SNOOZED").stdout_has(": known\n");
    let sqs = client(&accounts.url(2), REGION);
    for number in 0..10 {
        let send = sqs
            .send_message()
            .queue_url(accounts.queue_url(2, "bills-dead.fifo"))
            .message_body(number.to_string());
        accounts.runtime.block_on(send.message_group_id("a").send()).expect("it is sent");
    }
    let grown = accounts.fleet(&format!("--json {journal}")).json();
    assert_eq!(
        (names(&grown), &grown["queues"][0]["snoozed"]),
        (vec!["bills-dead.fifo", "shop-dead"], &Value::Null)
    );
    accounts.redrive(&snooze).ended(0);
    accounts
        .redrive(&format!("fleet wake bills {journal}"))
        .refused(2, "QUEUE is \"bills\", allowed: arn:aws:sqs:eu-west-1:222222222222:bills-dead.fifo");
    let wake = format!("fleet wake bills-dead.fifo {journal}");
    accounts.redrive(&wake).printed(0, "bills-dead.fifo is no longer snoozed\n");
    assert_eq!(names(&accounts.fleet(&format!("--json {journal}")).json()), ["bills-dead.fifo", "shop-dead"]);
    accounts.redrive(&wake).refused(2, "allowed: none is snoozed");
}

#[test]
fn a_snooze_has_a_time_a_reason_and_a_folder() {
    for (line, expected) in [
        ("--for 31d --reason known", "allowed: 1m to 30d"),
        ("--for 2d --reason ' '", "allowed: 1 to 200 characters"),
        ("--for 2d", "--reason"),
        ("--for 2d --reason known --journal off", "--journal or REDRIVE_JOURNAL is off, allowed: a folder"),
    ] {
        Ran::of(&mut command(&format!("fleet snooze orders-dead {line}"))).refused(2, expected);
    }
}

#[test]
fn people_get_a_table_with_the_columns_that_say_something() {
    let accounts = three();
    let ran = accounts.fleet("");
    let lines: Vec<Vec<&str>> =
        ran.told(0, "").stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0].join(" "), "2 of 3 dead-letter queues have 6 letters");
    assert_eq!(lines[2].join(" "), "LETTERS PER HOUR OLDEST EXPIRES QUEUE SOURCE OWNER PLACE");
    // Values are of whole minutes.
    let [bills, shop] = [&lines[3], &lines[4]].map(|line| line.join(" ").replace("1h 1m", "1h"));
    assert!(bills.starts_with("1 0 1h in 22h 5"), "{bills}");
    assert!(bills.ends_with(&format!(" bills-dead.fifo bills.fifo - 222222222222 {REGION}")), "{bills}");
    assert!(
        shop.starts_with("5 +2 1h in 9d 22h to 13d 22h shop-dead shop, shop-too payments 1111"),
        "{shop}"
    );
    let one = accounts.redrive("fleet --profile account1 --owner-tag team").told(0, "").stdout.clone();
    assert!(!one.contains("PLACE") && !one.contains("OWNER"), "{one}");
    accounts.redrive("fleet --profile account3").printed(0, "no letters in 1 dead-letter queue\n");
}

#[test]
fn a_broken_profile_is_a_row_and_the_others_are_shown() {
    let accounts = three();
    let ran = accounts.fleet("--profile gone");
    ran.ended(1).stdout_has("2 of 3 dead-letter queues have 6 letters\n").stderr_count("\n", 1);
    ran.stdout_has(
        "not read: profile gone: --profile is \"gone\", but your AWS settings have no such profile",
    );
    ran.stderr_ends("redrive: profile gone could not be read\n");
    let fleet = accounts.fleet("--profile gone --json").ended(1).json();
    assert_eq!((names(&fleet).len(), &fleet["failed"][0]["place"]), (2, &json!("profile gone")));
    accounts.redrive("fleet --profile gone").refused(2, "--profile is \"gone\"").printed(2, "");
}

#[test]
fn unreadable_queues_are_named_once_and_hide_no_others() {
    let aws = Aws::with_orders(false);
    aws.send("orders-dead", "a letter");
    for (call, code, part) in [
        ("ListQueues", 1, "not read: eu-west-1: could not list the queues: not allowed"),
        ("GetQueueAttributes", 1, "; and 1 other for the same reason"),
        ("GetMetricData", 0, "growth and age of the oldest letter: could not read the metrics: not allowed"),
        ("ListQueueTags", 0, "owner: could not read the tags of orders-dead: not allowed"),
    ] {
        let denied = Proxy::refusing(&aws.url, [(call, "AccessDenied", "not you")]);
        let ran = denied.redrive("fleet");
        ran.ended(code).stdout_has(part);
        assert_eq!(ran.stdout.contains(" orders-dead  orders"), code == 0, "{call}: {ran:?}");
    }
}

#[test]
fn a_dead_letter_queue_that_cannot_be_reached_is_named_with_its_source() {
    let aws = Aws::with_orders(false);
    aws.wait(aws.sqs.delete_queue().queue_url(aws.queue_url("orders-dead")).send()).expect("it is deleted");
    let policies = ["111122223333", "eu-north-1"].map(|word| match word {
        "eu-north-1" => format!("arn:aws:sqs:{word}:123456789012:far-dead"),
        account => format!("arn:aws:sqs:{REGION}:{account}:foreign-dead"),
    });
    let urls = ["a", "b"].map(|name| aws.queue_url(name));
    let answers: Vec<Value> = policies
        .iter()
        .map(|target| {
            let policy = json!({ "deadLetterTargetArn": target, "maxReceiveCount": 3 }).to_string();
            let arn = format!("arn:aws:sqs:{REGION}:123456789012:source");
            json!({ "Attributes": { "QueueArn": format!("{arn}-{}", target.len()), "RedrivePolicy": policy } })
        })
        .collect();
    let proxy = Proxy::start(&aws.url, move |call, before| match call.action.as_str() {
        "ListQueues" => Fate::Answers(json!({ "QueueUrls": urls })),
        "GetQueueAttributes" => Fate::Answers(answers[before % 2].clone()),
        _ => Fate::Answered,
    });
    let ran = proxy.redrive("fleet");
    ran.ended(1).stderr_ends("redrive: 2 dead-letter queues not reached\n");
    ran.stdout_has("unreachable: foreign-dead, of source-")
        .stdout_has("account 111122223333, eu-west-1 was not read");
    ran.stdout_has("unreachable: far-dead, of source-")
        .stdout_has("account 123456789012, eu-north-1 was not read");
    let ran = aws.redrive("fleet");
    ran.ended(1).stdout_has("unreachable: orders-dead, of orders: could not find the queue arn:aws:sqs:");
}

#[test]
fn two_hundred_queues_take_few_requests() {
    let of = |sources: usize| {
        move |id: &str| {
            let pair = |at: usize| {
                [queue(&format!("q{at}-dead"), []), source(&format!("q{at}"), id, &format!("q{at}-dead"))]
            };
            (0..sources).flat_map(pair).collect()
        }
    };
    let accounts = Accounts::start([of(34), of(33), of(33)]);
    for number in 1..=3 {
        for at in 0..20 {
            accounts.send(number, &format!("q{at}-dead"), 1);
        }
    }
    let began = std::time::Instant::now();
    let fleet = accounts.fleet("--json").ended(0).json();
    let took = began.elapsed();
    assert_eq!((names(&fleet).len(), &fleet["empty"]), (60, &json!(40)));
    let calls = accounts.calls();
    let count = |action: &str| calls.iter().filter(|call| call.action.ends_with(action)).count();
    assert_eq!(
        [
            count("ListQueues"),
            count("GetQueueAttributes"),
            count("ListQueueTags"),
            count("GetMetricData"),
            calls.len()
        ],
        [3, 200, 60, 3, 266]
    );
    println!("{} requests for 200 queues in {took:?}", calls.len());
    assert!(took.as_secs() < 20, "{took:?}");
}

#[test]
fn two_profiles_of_one_account_read_it_once() {
    let aws = Aws::with_orders(false);
    aws.send("orders-dead", "a letter");
    let proxy = Proxy::listening(&aws.url);
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let settings = ["one", "two"]
        .map(|name| format!("[profile {name}]\nregion = {REGION}\nendpoint_url = {}\n", proxy.url));
    fs::write(folder.path().join("config"), settings.concat()).expect("the folder is ours");
    let mut command = command("fleet --profile one --profile two --json");
    let ran = Ran::of(command.env("AWS_CONFIG_FILE", folder.path().join("config")));
    assert_eq!(names(&ran.ended(0).json()), ["orders-dead"]);
    assert_eq!(proxy.calls().iter().filter(|call| call.action == "GetQueueAttributes").count(), 2);
}

#[test]
fn a_watch_redraws_in_place_until_ctrl_c() {
    let aws = Aws::with_orders(false);
    let mut terminal = Terminal::redrive(&aws, "fleet --watch 1");
    terminal.expect("no letters in 1 dead-letter queue");
    aws.send("orders-dead", "one");
    terminal.expect("1 of 1 dead-letter queue has 1 letter");
    terminal.interrupt();
    terminal.ends(0);
}

#[test]
fn a_small_screen_says_how_much_it_leaves_out_and_what_was_not_read() {
    let queues = (0..60).flat_map(|number| {
        let dead = format!("dead-{number}");
        [queue(&dead, []), source(&format!("source-{number}"), crate::support::ACCOUNT, &dead)]
    });
    let aws = Aws::start(queues.collect());
    (0..60).for_each(|number| _ = aws.send(&format!("dead-{number}"), "a letter"));
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "GetQueueAttributes"
            if call.input["QueueUrl"].as_str().is_some_and(|url| url.ends_with("/dead-7")) =>
        {
            Fate::Says("AccessDenied", "not you")
        }
        _ => Fate::Answered,
    });
    let terminal = Terminal::run(Terminal::command(&proxy.url, "fleet --watch 60"));
    terminal.expect_end("Ctrl-C ends it");
    terminal.shows("59 of 59 dead-letter queues have 59 letters");
    terminal.shows(" more lines");
    terminal.shows("unreachable: dead-7, of source-7");
    terminal.shows("not read: ");
}

#[test]
fn no_name_or_tag_acts_on_the_terminal() {
    const HOSTILE: &str = "\x1b]52;c;RkFLRQ==\x07\r\nFAKE";
    let aws = Aws::with_orders(false);
    aws.send("orders-dead", "a letter");
    let proxy = Proxy::start(&aws.url, move |call, _| match call.action.as_str() {
        "ListQueueTags" => Fate::Answers(json!({ "Tags": { "owner": HOSTILE } })),
        _ => Fate::Answered,
    });
    let ran = proxy.redrive("fleet");
    assert!(ran.stdout.contains("FAKE") && !ran.stdout.contains(['\x1b', '\x07', '\r']), "{ran:?}");
}

#[test]
fn errors_of_all_queues_are_grouped_and_their_letters_released() {
    let pair = |name: &'static str| {
        move |id: &str| vec![queue(&format!("{name}-dead"), []), source(name, id, &format!("{name}-dead"))]
    };
    let accounts = Accounts::start([pair("shop"), pair("bills")]);
    for (number, queue, bodies) in [(1, "shop-dead", 0..15), (2, "bills-dead", 0..2)] {
        let sqs = client(&accounts.url(number), REGION);
        for body in bodies {
            let error =
                if body == 1 { "no such customer".to_owned() } else { format!("{body} cents: refused") };
            let send = sqs.send_message().queue_url(accounts.queue_url(number, queue)).message_body("{}");
            let send =
                send.message_attributes("redrive.dead-letter", note(&format!("m{body}"), "rejected", &error));
            accounts.runtime.block_on(send.send()).expect("it is sent");
        }
    }
    let profiles = "--profile account1 --profile account2";
    let ran = accounts.redrive(&format!("dlq list --all {profiles}"));
    ran.told(0, "17 of 17 letters received from 2 dead-letter queues\n");
    let lines: Vec<String> =
        ran.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[0], "LETTERS OLDEST NEWEST QUEUE REASON ERROR");
    for (line, [start, end]) in lines[1..].iter().zip([
        ["17 ", " bills-dead, shop-dead rejected 2 kinds of errors:"],
        ["15 ", " bills-dead, shop-dead # cents: refused"],
        ["2 ", " bills-dead, shop-dead no such customer"],
    ]) {
        assert!(line.starts_with(start) && line.ends_with(end), "{lines:#?}");
    }
    let json = accounts.redrive(&format!("dlq list --all --json {profiles} --max 3")).ended(0).json_lines();
    let of = |name: &str| json.iter().filter(|line| line["queue"].as_str().unwrap().ends_with(name)).count();
    assert_eq!((of(":shop-dead"), of(":bills-dead")), (3, 2));
    let ran = accounts.redrive(&format!("dlq list --all --max 3 {profiles}"));
    ran.told(
        0,
        "5 of 17 letters received from 2 dead-letter queues\n--max receives more letters of each queue\n",
    );
    let ran = accounts.redrive(&format!("dlq list --all {profiles} --where 'error ~ customer'"));
    ran.ended(0).stderr_has("2 of 17 letters received from 2 dead-letter queues match\n");
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let listed = accounts.redrive_at(&folder, &format!("dlq list --all {profiles}"));
    listed.ended(0);
    let fleet = accounts.redrive_at(&folder, &format!("fleet --json {profiles}")).json();
    let seen = |name: &str| {
        let queues = fleet["queues"].as_array().expect("it is a list");
        let queue = queues.iter().find(|queue| queue["name"] == name).expect("it has letters");
        (queue["seen"]["letters"].clone(), queue["seen"]["errors"].clone())
    };
    let error =
        |error: &str, letters: u32| json!({ "reason": "rejected", "error": error, "letters": letters });
    let both = |refused, letters| json!([error(refused, letters), error("no such customer", 1)]);
    assert_eq!(seen("shop-dead"), (json!(15), both("# cents: refused", 14)));
    assert_eq!(seen("bills-dead"), (json!(2), both("0 cents: refused", 1)));
    let table = accounts.redrive_at(&folder, &format!("fleet --wide {profiles}"));
    table.ended(0).stdout_has("  14 of 15 seen ").stdout_has(" ago: rejected: # cents: refused\n");
    // A smaller sample replaces no listing of all letters.
    accounts.redrive_at(&folder, "dlq list --queue shop --profile account1 --json --max 3").ended(0);
    let table = accounts.redrive_at(&folder, &format!("fleet --wide {profiles}"));
    table.stdout_has("  14 of 15 seen ");
    accounts.redrive_at(&folder, &format!("dlq list --all --max 3 {profiles}")).ended(0);
    accounts.redrive_at(&folder, &format!("fleet --wide {profiles}")).stdout_has("  14 of 15 seen ");
    let other = tempfile::tempdir().expect("there is room for a folder");
    accounts.redrive_at(&other, &format!("dlq list --all --max 3 {profiles}")).ended(0);
    accounts.redrive_at(&other, &format!("fleet --wide {profiles}")).stdout_has(" of a sample of 3 seen ");
    let status = accounts.redrive("queue status --queue shop --profile account1 --json").json();
    let dead = &status["dead_letter_queue"];
    assert_eq!((&dead["visible"], &dead["in_flight"]), (&json!(15), &json!(0)));
}

#[test]
fn a_queue_whose_letters_may_not_be_received_hides_no_other() {
    let aws = Aws::start(vec![
        queue("a-dead", []),
        queue("b-dead", []),
        source("a", crate::support::ACCOUNT, "a-dead"),
        source("b", crate::support::ACCOUNT, "b-dead"),
    ]);
    aws.send("a-dead", "a letter");
    aws.send("b-dead", "a letter");
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.as_str() {
        "ReceiveMessage" if call.input["QueueUrl"].as_str().is_some_and(|url| url.ends_with("/a-dead")) => {
            Fate::Says("AccessDenied", "not you")
        }
        _ => Fate::Answered,
    });
    let ran = proxy.redrive("dlq list --all");
    ran.ended(1)
        .stdout_has(" b-dead  sent")
        .stderr_has("1 of 2 letters received from 2 dead-letter queues\n");
    ran.stderr_ends(
        "could not receive from a-dead: not allowed: your credentials need sqs:ReceiveMessage (not you)\n",
    );
}

#[test]
fn only_all_takes_several_profiles() {
    let aws = Aws::with_orders(false);
    for (line, expected) in [
        (
            "dlq list --queue orders --region eu-west-1",
            "--region is given 2 times, allowed: once, unless --all",
        ),
        ("dlq list --all --queue orders", "--queue"),
        ("dlq list --all --logs", "--logs"),
        ("dlq list", "--all"),
    ] {
        aws.redrive(line).refused(2, expected);
    }
}
