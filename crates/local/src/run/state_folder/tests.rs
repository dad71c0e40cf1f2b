//! After any calls and kills, the queues in the folder are those that the process had.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use ciborium::Value;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// What a client, or a kill, does next.
#[derive(Debug, Clone)]
enum Step {
    Send {
        queue: usize,
        body: u8,
        group: u8,
    },
    Receive {
        queue: usize,
    },
    /// Of the latest received message.
    Delete,
    ChangeVisibility(u16),
    Configure {
        queue: usize,
        delay: u8,
    },
    Move,
    Purge {
        queue: usize,
    },
    Forget {
        queue: usize,
    },
    Pass(u8),
    /// A call that writes only a part of itself into the file, and gets no answer.
    CutOff,
    Kill,
    Snapshot,
}

const QUEUES: [&str; 3] = ["dead", "orders", "orders.fifo"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let queue = || 0..QUEUES.len();
    let step = prop_oneof![
        8 => (queue(), any::<u8>(), 0..3u8).prop_map(|(queue, body, group)| Step::Send { queue, body, group }),
        8 => queue().prop_map(|queue| Step::Receive { queue }),
        4 => Just(Step::Delete),
        3 => (0..200u16).prop_map(Step::ChangeVisibility),
        2 => (queue(), 0..20u8).prop_map(|(queue, delay)| Step::Configure { queue, delay }),
        2 => Just(Step::Move),
        1 => queue().prop_map(|queue| Step::Purge { queue }),
        1 => queue().prop_map(|queue| Step::Forget { queue }),
        6 => any::<u8>().prop_map(Step::Pass),
        1 => Just(Step::CutOff),
        3 => Just(Step::Kill),
        1 => Just(Step::Snapshot),
    ];
    vec(step, 0..80)
}

/// A process with a folder.
struct Process {
    account: Account,
    folder: StateFolder,
    now: SystemTime,
    /// The latest receipt handle, with its queue.
    handle: Option<(String, String)>,
}

impl Process {
    fn start(folder: &Path, now: SystemTime) -> Self {
        let new = Sqs::new("eu-central-1", "123456789012");
        let (mut opened, sqs, _) = StateFolder::open(folder, new).unwrap();
        opened.save(&sqs, now).unwrap();
        Self { account: Account::with_queues(sqs), folder: opened, now, handle: None }
    }

    fn call(&mut self, operation: &str, input: &serde_json::Value) -> serde_json::Value {
        let request = Request::post("http://localhost/")
            .header("host", "localhost")
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", format!("AmazonSQS.{operation}"))
            .body(Bytes::from(input.to_string()))
            .unwrap();
        self.account.sqs.advance(self.now);
        // So that a few calls lead to a new snapshot.
        self.folder.most_bytes = 1_000;
        self.folder.record(operation, &request, &self.account.sqs, self.now).unwrap();
        let response = self.account.answer(&request, self.now);
        self.folder.forget_empty_receive(operation, &self.account.sqs);
        self.account.take_events();
        serde_json::from_slice(response.body()).unwrap_or_default()
    }

    fn create(&mut self) {
        let policy = json!({"deadLetterTargetArn": self.account.queue_arn("dead"), "maxReceiveCount": 2});
        for (name, attributes) in [
            ("dead", json!({})),
            ("orders", json!({"RedrivePolicy": policy.to_string(), "VisibilityTimeout": "60"})),
            ("orders.fifo", json!({"FifoQueue": "true", "DeduplicationScope": "messageGroup"})),
        ] {
            self.call("CreateQueue", &json!({"QueueName": name, "Attributes": attributes}));
        }
    }

    fn step(&mut self, step: &Step) {
        let url = |queue: usize| format!("http://localhost/123456789012/{}", QUEUES[queue]);
        match *step {
            Step::Send { queue, body, group } => {
                let size = if body % 3 == 0 { 1_500 } else { 0 };
                let body = format!("{body:0size$}");
                let mut input = json!({"QueueUrl": url(queue), "MessageBody": body});
                if QUEUES[queue].ends_with(".fifo") {
                    input["MessageGroupId"] = group.to_string().into();
                    input["MessageDeduplicationId"] = body[body.len() - 1..].into();
                }
                self.call("SendMessage", &input);
            }
            Step::Receive { queue } => {
                let received =
                    self.call("ReceiveMessage", &json!({"QueueUrl": url(queue), "MaxNumberOfMessages": 3}));
                let handle = received["Messages"][0]["ReceiptHandle"].as_str();
                self.handle = handle.map(|handle| (url(queue), handle.to_owned())).or(self.handle.take());
            }
            Step::Delete => {
                if let Some((url, handle)) = self.handle.clone() {
                    self.call("DeleteMessage", &json!({"QueueUrl": url, "ReceiptHandle": handle}));
                }
            }
            Step::ChangeVisibility(seconds) => {
                if let Some((url, handle)) = self.handle.clone() {
                    let input =
                        json!({"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": seconds});
                    self.call("ChangeMessageVisibility", &input);
                }
            }
            Step::Configure { queue, delay } => {
                let size = if delay % 2 == 0 { "1024" } else { "2048" };
                let retention = (60 + u32::from(delay) * 10).to_string();
                let attributes = json!({
                    "DelaySeconds": delay.to_string(), "MaximumMessageSize": size, "MessageRetentionPeriod": retention,
                });
                self.call("SetQueueAttributes", &json!({"QueueUrl": url(queue), "Attributes": attributes}));
            }
            Step::Move => {
                let source = self.account.queue_arn("dead");
                let input = json!({"SourceArn": source, "MaxNumberOfMessagesPerSecond": 1});
                self.call("StartMessageMoveTask", &input);
            }
            Step::Purge { queue } => drop(self.call("PurgeQueue", &json!({"QueueUrl": url(queue)}))),
            Step::Forget { queue } => {
                self.call("DeleteQueue", &json!({"QueueUrl": url(queue)}));
                self.create();
            }
            Step::Pass(seconds) => self.now += Duration::from_secs(seconds.into()),
            Step::Snapshot => self.folder.save(&self.account.sqs, self.now).unwrap(),
            Step::CutOff | Step::Kill => unreachable!("the test does it"),
        }
    }
}

proptest! {
    #[test]
    fn a_kill_changes_nothing(steps in steps()) {
        run(&steps);
    }
}

/// A receive that finds nothing is not recorded, although it notices that a delay has ended.
#[test]
fn a_longer_delay_applies_only_to_messages_that_are_still_delayed() {
    run(&[
        Step::Configure { queue: 2, delay: 1 },
        Step::Send { queue: 2, body: 1, group: 0 },
        Step::Pass(2),
        Step::Receive { queue: 2 },
        Step::ChangeVisibility(199),
        Step::Send { queue: 2, body: 2, group: 0 },
        Step::Pass(2),
        Step::Receive { queue: 2 },
        Step::Configure { queue: 2, delay: 19 },
        Step::Kill,
    ]);
}

fn run(steps: &[Step]) {
    let folder = TempDir::new().unwrap();
    let mut process = Process::start(folder.path(), UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    process.create();
    for step in steps {
        let kills = match step {
            Step::CutOff => {
                let whole = std::fs::read(calls_of(folder.path(), process.folder.generation)).unwrap();
                let part = &whole[..whole.len().min(40)];
                (&process.folder.calls).write_all(part).unwrap();
                // The beginning of a call, unless there was none.
                part.len() == 40
            }
            Step::Kill => true,
            step => {
                process.step(step);
                false
            }
        };
        if kills {
            let before = state(&process.account.sqs, process.now);
            let (now, handle) = (process.now, process.handle.take());
            drop(process);
            process = Process { handle, ..Process::start(folder.path(), now) };
            assert_eq!(before, state(&process.account.sqs, now));
        }
    }
}

/// What the queues do next, and their state afterwards, with maps in a certain order. Before, a queue may not have noticed yet that a
/// visibility timeout has ended.
fn state(sqs: &Sqs, now: SystemTime) -> (String, Value) {
    let mut later = sqs.clone();
    let received = QUEUES.map(|queue| later.receive(queue, 10, None, now));
    // It also forgets names that may be used again.
    later.create("another", &BTreeMap::new(), now).unwrap();
    later.take_events();
    let mut value = Value::serialized(&later).unwrap();
    sort(&mut value);
    (format!("{received:?}"), value)
}

fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(sort),
        Value::Map(entries) => {
            entries.iter_mut().for_each(|(key, value)| {
                sort(key);
                sort(value);
            });
            entries.sort_by_key(|(key, _)| format!("{key:?}"));
        }
        _ => {}
    }
}

/// Sends three messages in a new folder. Returns the folder and its file of calls.
fn a_few_calls() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let mut process = Process::start(folder.path(), UNIX_EPOCH);
    process.create();
    (0..3).for_each(|body| process.step(&Step::Send { queue: 1, body, group: 0 }));
    let calls = recorded(folder.path()).unwrap();
    let [calls] = &calls[..] else { panic!("{calls:?}") };
    (folder, calls.clone())
}

fn open(folder: &Path) -> io::Result<usize> {
    let (_, sqs, _) = StateFolder::open(folder, Sqs::new("eu-central-1", "123456789012"))?;
    Ok(sqs.counts("orders", UNIX_EPOCH).map_or(0, |counts| counts.visible))
}

#[test]
fn a_receive_that_cannot_be_recorded_is_not_done() {
    let folder = TempDir::new().unwrap();
    let mut process = Process::start(folder.path(), UNIX_EPOCH);
    process.folder.calls = File::options().append(true).open("/dev/full").unwrap();
    let request = Request::post("http://localhost/").body(Bytes::new()).unwrap();
    let recorded = process.folder.record(RECEIVE, &request, &process.account.sqs, UNIX_EPOCH);
    assert_eq!(recorded.unwrap_err().kind(), ErrorKind::StorageFull);
}

#[test]
fn no_changed_byte_goes_unnoticed() {
    let (folder, calls) = a_few_calls();
    let whole = fs::read(&calls).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&calls, changed).unwrap();
        let error = open(folder.path()).expect_err("it is damaged").to_string();
        assert!(error.contains("calls-") && error.contains("is not what was written"), "byte {at}: {error}");
    }
}

#[test]
fn a_call_that_was_cut_off_was_not_done() {
    let (folder, calls) = a_few_calls();
    let whole = fs::read(&calls).unwrap();
    fs::write(&calls, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(open(folder.path()).unwrap(), 2);
}

#[test]
fn files_of_others_stay() {
    let (folder, _) = a_few_calls();
    let other = folder.path().join("calls-2025.csv");
    fs::write(&other, "important").unwrap();
    let _ = Process::start(folder.path(), UNIX_EPOCH);
    assert_eq!(fs::read_to_string(other).unwrap(), "important");
}

#[test]
fn a_receive_without_messages_leaves_no_record() {
    let folder = TempDir::new().unwrap();
    let mut process = Process::start(folder.path(), UNIX_EPOCH);
    process.create();
    let length = |process: &Process| process.folder.calls.metadata().unwrap().len();
    let before = length(&process);
    process.step(&Step::Receive { queue: 1 });
    assert_eq!((length(&process), process.folder.bytes), (before, before));
    process.step(&Step::Send { queue: 1, body: 1, group: 0 });
    process.step(&Step::Receive { queue: 1 });
    assert_eq!(length(&process), process.folder.bytes);
}
