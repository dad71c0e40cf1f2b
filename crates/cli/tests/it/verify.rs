//! `redrive verify` finds nothing in an SQS that works, and each fault that a proxy plants.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::proxy::{Call, Fate, Proxy};
use crate::support::{Aws, command_at};

#[test]
fn an_sqs_that_works_has_no_faults() {
    let aws = Aws::start(vec![]);
    let tally = aws.redrive("verify --json --messages 1000 --kills 5").ended(0).json();
    assert_eq!(
        (&tally["attempted"], &tally["acknowledged"], &tally["kills"]),
        (&json!(1_000), &json!(1_000), &json!(5))
    );
    // Of 51 messages, one fails always and one is rejected.
    assert_eq!((&tally["handled"], &tally["dead_lettered"]), (&json!(960), &json!(40)));
    let listed = aws.wait(aws.sqs.list_queues().send()).expect("it answers");
    assert_eq!(listed.queue_urls.unwrap_or_default(), [] as [String; 0]);
}

/// A fault, and the counters that may find it.
struct Planted {
    name: &'static str,
    fault: fn(&Call, usize) -> Fate,
    found_as: &'static [&'static str],
}

const FAULTS: [Planted; 13] = [
    Planted {
        name: "sends are acknowledged and dropped",
        fault: |call, before| match (&*call.action, before) {
            ("SendMessageBatch", 0) => Fate::Answers(all_successful(&call.input)),
            _ => Fate::Answered,
        },
        found_as: &["lost"],
    },
    Planted {
        name: "a send is done twice",
        fault: |call, before| match (&*call.action, before) {
            ("SendMessageBatch", 0) => Fate::MadeBy(|input, ask| {
                ask(input);
                ask(input)
            }),
            _ => Fate::Answered,
        },
        found_as: &["duplicated_without_cause"],
    },
    Planted {
        name: "deduplication ids are ignored",
        fault: |call, _| match &*call.action {
            "SendMessage" => Fate::MadeBy(|input, ask| {
                let mut input = input.clone();
                input
                    .as_object_mut()
                    .expect("an object")
                    .insert("MessageDeduplicationId".to_owned(), unique());
                ask(&input)
            }),
            _ => Fate::Answered,
        },
        found_as: &["duplicated_without_cause"],
    },
    Planted {
        name: "deletes are acknowledged and dropped",
        fault: |call, before| match &*call.action {
            "DeleteMessageBatch" if before % 3 == 0 => Fate::Answers(all_successful(&call.input)),
            _ => Fate::Answered,
        },
        found_as: &["duplicated_without_cause", "left_in_queue"],
    },
    Planted {
        name: "delays are acknowledged and dropped",
        fault: |call, _| match &*call.action {
            "ChangeMessageVisibilityBatch" => Fate::Answers(all_successful(&call.input)),
            _ => Fate::Answered,
        },
        found_as: &["before_delay", "duplicated_without_cause"],
    },
    Planted {
        name: "the visibility timeout is shorter than requested",
        fault: |call, _| match &*call.action {
            "ReceiveMessage" if call.input["VisibilityTimeout"] == 6 => Fate::MadeBy(|input, ask| {
                let mut input = input.clone();
                input["VisibilityTimeout"] = json!(1);
                ask(&input)
            }),
            _ => Fate::Answered,
        },
        found_as: &["duplicated_without_cause"],
    },
    Planted {
        name: "a body changes",
        fault: |call, _| {
            received(call, |message| {
                let body =
                    message["Body"].as_str().expect("a body").replace("\"number\":17,", "\"number\":18,");
                message["Body"] = body.into();
            })
        },
        found_as: &["unexpected"],
    },
    Planted {
        name: "attributes are dropped",
        fault: |call, _| {
            received(call, |message| {
                if message["Body"].as_str().is_some_and(|body| body.contains("\"number\":17,")) {
                    message.as_object_mut().expect("an object").remove("MessageAttributes");
                }
            })
        },
        found_as: &["unexpected"],
    },
    Planted {
        name: "nobody sent a message",
        fault: |call, _| {
            received(call, |message| {
                if message["Body"].as_str().is_some_and(|body| body.contains("\"number\":17,")) {
                    message["MessageId"] = unique();
                    message["Body"] = json!("{\"number\":-1}");
                }
            })
        },
        found_as: &["unexpected"],
    },
    Planted {
        name: "the receive count does not rise",
        fault: |call, _| {
            received(call, |message| message["Attributes"]["ApproximateReceiveCount"] = json!("1"))
        },
        found_as: &["wrong_receive_count"],
    },
    Planted {
        name: "messages of a group change places",
        fault: |call, _| match call.input["QueueUrl"].as_str() {
            Some(url) if call.action == "ReceiveMessage" && url.ends_with(".fifo") => {
                Fate::MadeBy(|input, ask| {
                    let mut output = ask(input);
                    output["Messages"].as_array_mut().into_iter().for_each(|messages| messages.reverse());
                    output
                })
            }
            _ => Fate::Answered,
        },
        found_as: &["out_of_order"],
    },
    Planted {
        name: "letters are acknowledged and dropped",
        fault: |call, _| match call.input["QueueUrl"].as_str() {
            Some(url) if call.action.starts_with("SendMessage") && url.contains("-dead") => {
                Fate::Answers(all_successful(&call.input))
            }
            _ => Fate::Answered,
        },
        found_as: &["lost"],
    },
    Planted {
        name: "the redrive policy is ignored",
        fault: |call, _| match &*call.action {
            "CreateQueue" => Fate::MadeBy(|input, ask| {
                let mut input = input.clone();
                input["Attributes"].as_object_mut().expect("some").remove("RedrivePolicy");
                ask(&input)
            }),
            _ => Fate::Answered,
        },
        found_as: &["lost"],
    },
];

#[test]
fn each_planted_fault_is_found() {
    thread::scope(|scope| {
        let runs = FAULTS.iter().map(|planted| {
            scope.spawn(move || {
                let aws = Aws::start(vec![]);
                let proxy = Proxy::start(&aws.url, planted.fault);
                let mut command = command_at(&proxy.url, "verify --json --messages 100 --kills 1");
                let output = command.env("TMPDIR", env!("CARGO_TARGET_TMPDIR")).output().expect("it runs");
                let tally: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
                let faults = &tally["faults"];
                let is_counted = |name: &&&str| match &faults[**name] {
                    Value::Array(numbers) => !numbers.is_empty(),
                    count => count.as_u64() > Some(0),
                };
                let is_found =
                    output.status.code() == Some(1) && planted.found_as.iter().any(|name| is_counted(&name));
                (
                    planted.name,
                    is_found,
                    tally.to_string(),
                    String::from_utf8_lossy(&output.stderr).into_owned(),
                )
            })
        });
        for run in runs.collect::<Vec<_>>() {
            let (name, is_found, tally, stderr) = run.join().expect("it has run");
            assert!(is_found, "{name}: {tally} {stderr}");
        }
    });
}

/// Changes messages on their way to a worker.
fn received(call: &Call, change: fn(&mut Value)) -> Fate {
    let is_by_worker = call.action == "ReceiveMessage" && call.input["VisibilityTimeout"] == 6;
    if is_by_worker { Fate::MessagesChanged(change) } else { Fate::Answered }
}

fn unique() -> Value {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    format!("unique-{}", LAST.fetch_add(1, Ordering::Relaxed)).into()
}

/// The answer to a batch of which nothing is done.
fn all_successful(input: &Value) -> Value {
    let entries = input["Entries"].as_array().cloned().unwrap_or_default();
    let successful = |entry: &Value| json!({ "Id": entry["Id"], "MessageId": "dropped", "MD5OfMessageBody": "00000000000000000000000000000000" });
    json!({
        "Successful": entries.iter().map(successful).collect::<Vec<_>>(), "Failed": [],
        "MessageId": "dropped", "MD5OfMessageBody": "00000000000000000000000000000000",
    })
}
