use redrive_local::EventKind;
use serde_json::{Value, json};

use crate::support::story::{Setup, Story};
use crate::support::{Language, languages};

/// The rules that the scenarios of one function share.
const RULES: &str = "
CardError=reject
LongError=reject
RuntimeError *card * expired*=reject
StaleError=discard
BusyError=return
com.example.*=reject
DuplicateError=done
Runtime.ExitError *exit status 77=reject
BatchItemFailure=retry
";

/// Returns scenarios: a name, the message, its end, and the error of its letter.
fn scenarios() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    let raised = |name: &str, message: &str| json!({ "do": "raise", "type": name, "message": message });
    let failures =
        |failures: Value| json!({ "do": "succeed", "result": { "batchItemFailures": failures }, "until": 1 });
    vec![
        ("nothing returned", json!({ "do": "succeed" }), "done 1", ""),
        ("a text returned", json!({ "do": "succeed", "result": "ok" }), "done 1", ""),
        ("an object returned", json!({ "do": "succeed", "result": { "statusCode": 500 } }), "done 1", ""),
        (
            "no failures returned",
            json!({ "do": "succeed", "result": { "batchItemFailures": [] } }),
            "done 1",
            "",
        ),
        ("Unicode", json!({ "do": "compare", "text": "é😀\u{2028}\"\\" }), "done 1", ""),
        ("a large message", json!({ "do": "succeed", "padding": "é".repeat(500_000) }), "done 1", ""),
        ("a large response", json!({ "do": "huge", "bytes": 6_000_000 }), "done 1", ""),
        ("an error", raised("Exception", "down"), "redrive policy 3", ""),
        ("an error that ends", json!({ "do": "raise", "until": 2 }), "done 3", ""),
        ("rejected by type", raised("CardError", "é: refused"), "rejected 1", "é: refused"),
        (
            "rejected by message",
            raised("RuntimeError", "the card 7 expired\nlong ago"),
            "rejected 1",
            "the card 7 expired\nlong ago",
        ),
        ("another message", raised("RuntimeError", "the card is new"), "redrive policy 3", ""),
        ("discarded", raised("StaleError", "old"), "done 1", ""),
        ("done by type", raised("DuplicateError", "known"), "done 1", ""),
        ("returned", json!({ "do": "raise", "type": "BusyError", "until": 1 }), "done 2", ""),
        ("an empty error", raised("Exception", ""), "redrive policy 3", ""),
        ("a long error", raised("LongError", &"x".repeat(600_000)), "rejected 1", "x".repeat(256).leak()),
        ("a hang", json!({ "do": "hang", "until": 1 }), "done 2", ""),
        ("a hang with a child", json!({ "do": "fork", "until": 1 }), "done 2", ""),
        ("exit", json!({ "do": "exit", "code": 1, "until": 1 }), "done 2", ""),
        ("exit without an error", json!({ "do": "exit", "code": 0, "until": 1 }), "done 2", ""),
        ("exit at once", json!({ "do": "quit", "code": 3, "until": 2 }), "done 3", ""),
        (
            "exit with a code that has a meaning",
            json!({ "do": "quit", "code": 77 }),
            "rejected 1",
            "Runtime exited with error: exit status 77",
        ),
        ("a crash", json!({ "do": "kill", "signal": "SIGSEGV", "until": 1 }), "done 2", ""),
        ("out of memory", json!({ "do": "kill", "signal": "SIGKILL", "until": 1 }), "done 2", ""),
        ("a result that is not JSON", json!({ "do": "unserializable", "until": 1 }), "done 2", ""),
        (
            "a response that is too large",
            json!({ "do": "huge", "bytes": 7_000_000, "until": 1 }),
            "done 2",
            "",
        ),
        ("a reported failure", json!({ "do": "report" }), "redrive policy 3", ""),
        ("an unknown failure", failures(json!([{ "itemIdentifier": "m" }])), "done 2", ""),
        (
            "failures in a string",
            json!({ "do": "succeed", "result": "{\"batchItemFailures\": []}", "until": 1 }),
            "done 2",
            "",
        ),
        ("failures that are none", failures(json!("all")), "done 2", ""),
        ("an identifier that is empty", failures(json!([{ "itemIdentifier": "" }])), "done 2", ""),
        ("failures that are null", failures(json!(null)), "done 1", ""),
        ("a list returned", json!({ "do": "succeed", "result": [1] }), "done 1", ""),
        ("a body that the function does not know", json!("tea"), "redrive policy 3", ""),
        ("rejected by a pattern", raised("com.example.CardError", "refused"), "rejected 1", "refused"),
        ("a stack that overflows", json!({ "do": "recurse", "until": 1 }), "done 2", ""),
        ("an abort", json!({ "do": "kill", "signal": "SIGABRT", "until": 1 }), "done 2", ""),
        ("a panic outside of the handler", json!({ "do": "panic", "until": 1 }), "done 2", ""),
        ("exit with a child", json!({ "do": "orphan", "until": 1 }), "done 2", ""),
        ("a lot of output", json!({ "do": "print", "bytes": 1_000_000 }), "done 1", ""),
        ("after all that", json!({ "do": "succeed" }), "done 1", ""),
    ]
}

async fn every_scenario(language: Language) {
    let setup = Setup::new(language).variable("REDRIVE_CLASSIFY", RULES).variable("REDRIVE_TIME_LIMIT", "3");
    let story = setup.run(scenarios().into_iter().map(|(_, body, _, _)| body)).await;
    let mut wrong = Vec::new();
    for (id, (name, _, end, error)) in story.ids.iter().zip(scenarios()) {
        let ended = story.end(id);
        if ended != (end.to_owned(), error.to_owned()) {
            wrong.push(format!("{name}: {ended:?} instead of {end}, {error}"));
        }
    }
    assert!(wrong.is_empty(), "{language:?}: {}\n{}", wrong.join("\n"), story.lines("").join("\n"));
    let waits = |at: usize| story.waits(&story.ids[at]);
    let at = |name: &str| scenarios().iter().position(|(known, ..)| *known == name).unwrap();
    assert_eq!(waits(at("an error that ends")), [2, 4], "{language:?}");
    assert_eq!(waits(at("exit at once")), [2, 4], "{language:?}");
    assert!(!is_running("sleep 47"), "{language:?}: the process group is killed");
}

fn is_running(command: &str) -> bool {
    let of = |path: std::path::PathBuf| std::fs::read(path.join("cmdline")).unwrap_or_default();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let words = command.replace(' ', "\0");
    processes.map(of).any(|line| String::from_utf8_lossy(&line).starts_with(&words))
}

#[tokio::test]
async fn every_scenario_ends_as_documented() {
    for language in languages() {
        every_scenario(language).await;
    }
}

#[tokio::test]
async fn an_outage_is_waited_for_and_counts_as_no_error() {
    for language in languages() {
        let setup = Setup::new(language).variable("REDRIVE_CLASSIFY", "ConnectionError=outage");
        let down = json!({ "do": "raise", "type": "ConnectionError", "message": "bank", "until": 1 });
        let story = setup.run([down]).await;
        assert_eq!(story.ends(), ["done 2"], "{language:?}");
        assert!(story.waits(&story.ids[0])[0] >= 60, "{language:?}: {:?}", story.waits(&story.ids[0]));
    }
}

#[tokio::test]
async fn a_failed_message_of_a_group_blocks_the_next_ones_and_a_letter_does_not() {
    for language in languages() {
        for failing in ["raise", "orphan", "hang"] {
            let setup = Setup { queue: "orders.fifo", batch_size: 10, ..Setup::new(language) };
            let setup =
                setup.variable("REDRIVE_CLASSIFY", "CardError=reject").variable("REDRIVE_TIME_LIMIT", "3");
            let story = setup
                .run([
                    json!({ "do": "succeed", "n": 1 }),
                    json!({ "do": failing, "until": 1 }),
                    json!({ "do": "raise", "type": "CardError", "message": "no" }),
                    json!({ "do": "succeed", "n": 2 }),
                ])
                .await;
            let ends = story.ends();
            assert_eq!(ends[..2], ["done 1", "done 2"], "{language:?}: {ends:?}");
            let order: Vec<_> = story
                .kinds
                .iter()
                .filter_map(|kind| match kind {
                    EventKind::Done { message_id, .. } | EventKind::DeadLettered { message_id, .. } => {
                        Some(story.ids.iter().position(|id| id == message_id).unwrap())
                    }
                    _ => None,
                })
                .collect();
            assert!(ends[2].starts_with("rejected") && ends[3].starts_with("done"), "{language:?}: {ends:?}");
            assert_eq!(order, [0, 1, 2, 3], "{language:?}: {failing}");
        }
    }
}

async fn batch(language: Language, bodies: Vec<Value>) -> Story {
    let setup = Setup { batch_size: 10, ..Setup::new(language) };
    setup.variable("REDRIVE_BATCH", "10").variable("REDRIVE_TIME_LIMIT", "3").run(bodies).await
}

#[tokio::test]
async fn a_function_gets_a_batch_and_names_the_failed_messages() {
    for language in languages() {
        let tell = json!({ "do": "tell" });
        let story = batch(language, vec![tell.clone(), json!({ "do": "report", "until": 1 }), tell]).await;
        assert_eq!(story.ends(), ["done 1", "done 2", "done 1"], "{language:?}");
        assert!(story.printed().iter().all(|told| told["of"] == 3), "{language:?}: {:?}", story.printed());
    }
}

#[tokio::test]
async fn an_event_whose_function_fails_fails_with_all_its_messages() {
    let malformed = json!({ "do": "succeed", "result": { "batchItemFailures": [{}] }, "until": 1 });
    for language in languages() {
        for last in [
            json!({ "do": "raise", "until": 1 }),
            json!({ "do": "exit", "code": 1, "until": 1 }),
            json!({ "do": "hang", "until": 1 }),
            json!({ "do": "kill", "signal": "SIGKILL", "until": 1 }),
            json!({ "do": "huge", "bytes": 7_000_000, "until": 1 }),
            malformed.clone(),
        ] {
            let ok = json!({ "do": "succeed" });
            let story = batch(language, vec![ok.clone(), ok, last.clone()]).await;
            assert_eq!(story.ends(), ["done 2", "done 2", "done 2"], "{language:?}: {last}");
        }
    }
}
