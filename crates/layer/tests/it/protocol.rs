use std::time::Duration;

use serde_json::{Value, json};

use crate::support::lambda::{ARN, Function, TRACE};
use crate::support::{Language, languages};

const LEFT: Duration = Duration::from_secs(30);

async fn start(language: Language, variables: &[(&str, &str)]) -> Function {
    Function::start(&language.command(), &language.folder(), variables).await
}

/// An event of messages with these bodies, whose ids are `m0`, `m1` and so on.
fn event(bodies: impl IntoIterator<Item = Value>) -> Value {
    let record = |(at, body): (usize, Value)| {
        json!({
            "messageId": format!("m{at}"),
            "receiptHandle": "handle",
            "body": body.to_string(),
            "attributes": { "ApproximateReceiveCount": "1" },
            "messageAttributes": {},
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
        })
    };
    json!({ "Records": bodies.into_iter().enumerate().map(record).collect::<Vec<_>>() })
}

fn failures(ids: &[&str]) -> Value {
    let items: Vec<_> = ids.iter().map(|id| json!({ "itemIdentifier": id })).collect();
    json!({ "batchItemFailures": items })
}

#[tokio::test]
async fn the_function_sees_the_invocation_of_lambda() {
    for language in languages() {
        let mut function = start(language, &[("REDRIVE_RESERVE", "5")]).await;
        let tell = json!({ "do": "tell" });
        assert_eq!(function.respond(event([tell.clone(), tell])).await, failures(&[]));
        function.terminate();
        let (_, stdout, _) = function.exit().await;
        let lines = stdout.lines().filter_map(|line| line.split_once("told ").map(|(_, told)| told));
        let told: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(told.len(), 2, "{language:?}: each message comes alone: {stdout}");
        for (told, id) in told.iter().zip(["request-1", "request-2"]) {
            assert_eq!((told["id"].as_str(), told["arn"].as_str()), (Some(id), Some(ARN)));
            assert_eq!(told["trace"], TRACE);
            let left = told["left"].as_f64().unwrap();
            assert!(
                (20_000.0..=25_100.0).contains(&left),
                "{language:?}: 5 s before Lambda's deadline: {left}"
            );
            assert_eq!((&told["of"], &told["pid"]), (&json!(1), &told["pid"]), "{language:?}");
        }
    }
}

#[tokio::test]
async fn a_response_names_what_failed_and_lambdas_own_id_comes_back() {
    for language in languages() {
        let mut function = start(language, &[]).await;
        let bodies =
            [json!({ "do": "succeed" }), json!({ "do": "raise" }), json!({ "do": "exit", "code": 1 })];
        function.offer(
            "r1",
            event(bodies).to_string().as_bytes(),
            LEFT,
            &[("lambda-runtime-invocation-id", "i7")],
        );
        let request = function.next_request().await;
        assert_eq!(
            (request.path.as_str(), request.json()),
            ("invocation/r1/response", failures(&["m1", "m2"]))
        );
        assert_eq!(request.headers["lambda-runtime-invocation-id"], "i7", "{language:?}");
        assert_eq!(
            function.respond(event([json!({ "do": "succeed" })])).await,
            failures(&[]),
            "{language:?}"
        );
    }
}

/// Standard queues can deliver a message twice.
#[tokio::test]
async fn a_message_that_comes_twice_in_a_batch_keeps_both_records() {
    let mut batch = event(vec![json!({ "do": "raise", "until": 1 }); 2]);
    let record = &mut batch["Records"][1];
    record["messageId"] = json!("m0");
    record["receiptHandle"] = json!("an\"other\\é");
    record["attributes"]["ApproximateReceiveCount"] = json!("2");
    let mut function = start(Language::Python, &[]).await;
    assert_eq!(function.respond(batch).await, failures(&["m0"]));
    function.terminate();
    let (_, stdout, _) = function.exit().await;
    assert!(stdout.contains("\"succeeded\":1"), "{stdout}");
}

/// redrive reserves half a second of the 5 s for itself.
#[tokio::test]
async fn a_function_that_hangs_is_answered_for_in_time_and_started_again() {
    for language in languages() {
        let mut function = start(language, &[]).await;
        let begun = std::time::Instant::now();
        let bodies = [json!({ "do": "succeed" }), json!({ "do": "hang" }), json!({ "do": "succeed" })];
        function.offer("r1", event(bodies).to_string().as_bytes(), Duration::from_secs(5), &[]);
        assert_eq!(function.next_request().await.json(), failures(&["m1", "m2"]), "{language:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{language:?}: {:?}", begun.elapsed());
        assert_eq!(
            function.respond(event([json!({ "do": "succeed" })])).await,
            failures(&[]),
            "{language:?}"
        );
    }
}

#[tokio::test]
async fn events_of_six_megabytes_reach_the_function() {
    for language in languages() {
        let mut function = start(language, &[("REDRIVE_BATCH", "10")]).await;
        let large = json!({ "do": "succeed", "padding": "x".repeat(1_040_000) });
        assert_eq!(function.respond(event(vec![large; 6])).await, failures(&[]), "{language:?}");
    }
}

#[tokio::test]
async fn other_events_and_their_answers_pass_untouched() {
    let events = [
        r#"{"source":"aws.events", "n": 1.50, "detail": "\u00e9😀"}"#,
        r#"{"Records": [{"eventSource": "aws:s3", "s3": {}}]}"#,
        // EventBridge Pipes has the same messages, and deletes all if the function returns.
        r#"[{"messageId": "m1", "body": "{}", "eventSource": "aws:sqs"}]"#,
    ];
    for language in languages() {
        let mut function = start(language, &[]).await;
        for event in events {
            let context = [("lambda-runtime-client-context", r#"{"custom": {"a": "b"}}"#)];
            function.offer("r1", event.as_bytes(), LEFT, &context);
            let request = function.next_request().await;
            assert_eq!(request.path, "invocation/r1/response", "{language:?}: {event}");
            let sent: Value = serde_json::from_str(event).unwrap();
            let expected = json!({ "é": sent, "custom": { "a": "b" }, "id": "r1" });
            assert_eq!(request.json(), expected, "{language:?}");
        }
        function.offer("r2", b"\"raise\"", LEFT, &[]);
        let request = function.next_request().await;
        assert_eq!(request.path, "invocation/r2/error", "{language:?}");
        let report = request.json();
        assert_eq!(
            (&report["errorType"], &report["errorMessage"]),
            (&json!("CardError"), &json!("é: no other event"))
        );
        let trace = report.get("stackTrace").or(report.get("trace")).unwrap();
        assert!(!trace.as_array().unwrap().is_empty(), "{language:?}: {report}");
        assert!(request.headers.contains_key("lambda-runtime-function-xray-error-cause"), "{language:?}");
        function.offer("r3", b"\"exit\"", LEFT, &[]);
        assert_eq!(function.exit().await.0, Some(9), "{language:?}: Lambda sees the exit code");
    }
}

#[tokio::test]
async fn errors_of_the_init_reach_lambda_as_they_are() {
    for language in languages() {
        for (init, kind, message) in [
            ("raise", "ValueError", "no settings"),
            ("import", if language == Language::Python { "Runtime.ImportModuleError" } else { "" }, "no"),
        ] {
            let mut function = start(language, &[("INIT", init)]).await;
            let request = function.next_request().await;
            let report = request.json();
            assert_eq!(request.path, "init/error", "{language:?}");
            assert!(report["errorType"].as_str().unwrap().contains(kind), "{language:?}: {report}");
            assert!(report["errorMessage"].as_str().unwrap().contains(message), "{language:?}: {report}");
            assert_eq!(
                request.headers["lambda-runtime-function-error-type"],
                report["errorType"].as_str().unwrap()
            );
            let (code, _, stderr) = function.exit().await;
            assert!(code.is_some_and(|code| code != 0), "{language:?}: {code:?} {stderr}");
        }
        let function = start(language, &[("INIT", "exit")]).await;
        assert_eq!(function.exit().await.0, Some(7), "{language:?}");
    }
}

#[tokio::test]
async fn a_wrong_setting_fails_the_init_with_a_line() {
    for (name, value, line) in [
        ("REDRIVE_BATCH", "many", "REDRIVE_BATCH is \"many\", allowed: 1 to 10000"),
        (
            "REDRIVE_CLASSIFY",
            "ValueError=drop",
            "REDRIVE_CLASSIFY is \"ValueError=drop\", allowed: done, retry, reject, return, outage or discard after the last =",
        ),
        (
            "REDRIVE_MAX_RECEIVE_COUNT",
            "0",
            "REDRIVE_MAX_RECEIVE_COUNT is \"0\", allowed: a whole number from 1 to 1000",
        ),
        (
            "AWS_LAMBDA_MAX_CONCURRENCY",
            "8",
            "AWS_LAMBDA_MAX_CONCURRENCY is \"8\", allowed: 1, since the layer hands the function one event at a time",
        ),
        (
            "REDRIVE_LOG",
            "warning",
            "REDRIVE_LOG is \"warning\", allowed: off, error, warn, info, debug or trace, also by target such as \"info,orders=debug\" (warning is not a level)",
        ),
    ] {
        let mut function = start(Language::Python, &[(name, value)]).await;
        let request = function.next_request().await;
        assert_eq!(
            (request.path.as_str(), &request.json()["errorType"]),
            ("init/error", &json!("InvalidSetting"))
        );
        assert_eq!(request.json()["errorMessage"], line);
        let (code, _, stderr) = function.exit().await;
        assert_eq!((code, stderr), (Some(2), format!("redrive: {line}\n")));
    }
}

#[tokio::test]
async fn a_command_that_cannot_run_fails_the_init() {
    let folder = Language::Python.folder();
    let mut function = Function::start(&["/no/such/runtime".to_owned()], &folder, &[]).await;
    let report = function.next_request().await.json();
    assert_eq!(report["errorType"], "Runtime.InvalidEntrypoint");
    let (code, _, stderr) = function.exit().await;
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("redrive: /no/such/runtime: No such file"), "{stderr}");
}

#[tokio::test]
async fn after_ten_processes_in_a_row_that_ended_ours_ends_after_its_answer() {
    let mut function = start(Language::Python, &[("REDRIVE_TIME_LIMIT", "20")]).await;
    let bodies = vec![json!({ "do": "quit", "code": 1 }); 10];
    function.offer("r1", event(bodies).to_string().as_bytes(), LEFT, &[]);
    assert_eq!(function.next_request().await.json()["batchItemFailures"].as_array().unwrap().len(), 10);
    let (code, _, stderr) = function.exit().await;
    assert_eq!(
        (code, stderr.as_str()),
        (Some(1), "redrive: the function's process ended or failed to start 10 times in a row\n")
    );
}

/// A process that ends does not affect other messages, so no message has to run last.
#[tokio::test]
async fn messages_on_their_last_delivery_run_before_one_that_hangs() {
    for queue in ["orders", "orders.fifo"] {
        let mut batch = event([vec![json!({ "do": "hang" })], vec![json!({ "do": "succeed" }); 4]].concat());
        for (at, record) in batch["Records"].as_array_mut().unwrap().iter_mut().enumerate() {
            record["eventSourceARN"] = json!(format!("arn:aws:sqs:eu-west-1:123456789012:{queue}"));
            record["attributes"]["MessageGroupId"] = json!(format!("g{at}"));
            record["attributes"]["ApproximateReceiveCount"] = json!(if at == 0 { "1" } else { "3" });
        }
        let mut function = start(Language::Python, &[("REDRIVE_MAX_RECEIVE_COUNT", "3")]).await;
        function.offer("r1", batch.to_string().as_bytes(), Duration::from_secs(10), &[]);
        assert_eq!(function.next_request().await.json(), failures(&["m0"]), "{queue}");
    }
}

#[tokio::test]
async fn processes_that_end_cost_no_other_message_its_last_delivery() {
    let (quit, ok) = (json!({ "do": "quit", "code": 1 }), json!({ "do": "succeed" }));
    let mut batch = event([vec![quit; 10], vec![ok; 4]].concat());
    batch["Records"].as_array_mut().unwrap().iter_mut().for_each(|record| {
        record["attributes"]["ApproximateReceiveCount"] = json!("3");
    });
    let of_quit: Vec<_> = (0..10).map(|at| format!("m{at}")).collect();
    let of_quit: Vec<_> = of_quit.iter().map(String::as_str).collect();
    for variables in [&[("REDRIVE_MAX_RECEIVE_COUNT", "3")][..], &[]] {
        let mut function = start(Language::Python, variables).await;
        assert_eq!(function.respond(batch.clone()).await, failures(&of_quit), "{variables:?}");
        assert_eq!(function.respond(event([json!({ "do": "succeed" })])).await, failures(&[]));
    }
    // The last message of a group needs those in front of it.
    let mut of_groups = batch.clone();
    for (at, record) in of_groups["Records"].as_array_mut().unwrap().iter_mut().enumerate() {
        record["eventSourceARN"] = json!("arn:aws:sqs:eu-west-1:123456789012:orders.fifo");
        record["attributes"]["MessageGroupId"] = json!(format!("g{}", at.min(10)));
        if at == 10 {
            record["attributes"]["ApproximateReceiveCount"] = json!("1");
        }
    }
    let mut function = start(Language::Python, &[("REDRIVE_MAX_RECEIVE_COUNT", "3")]).await;
    assert_eq!(function.respond(of_groups).await, failures(&of_quit));
    let mut function = start(Language::Python, &[("REDRIVE_MAX_RECEIVE_COUNT", "4")]).await;
    let response = function.respond(batch).await;
    assert_eq!(response["batchItemFailures"].as_array().unwrap().len(), 14, "the others return to the queue");
    assert_eq!(function.exit().await.0, Some(1));
}

/// With SnapStart, the runtime waits for the snapshot before it asks for work.
#[tokio::test]
async fn the_snapshot_is_between_lambda_and_the_runtime() {
    let mut function = start(Language::Python, &[("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start")]).await;
    assert_eq!(function.next_request().await.path, "restore/next");
    let crash = event([json!({ "do": "quit", "code": 1 }), json!({ "do": "succeed" })]);
    assert_eq!(function.respond(crash).await, failures(&["m0"]));
}

/// Lambda no longer waits for a restore.
#[tokio::test]
async fn a_function_that_cannot_be_restored_again_is_an_outage() {
    let marker = Language::Python.folder().join(format!("restored-{}", std::process::id()));
    let variables = [
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start"),
        ("INIT", "restore"),
        ("MARKER", marker.to_str().unwrap()),
    ];
    let mut function = start(Language::Python, &variables).await;
    assert_eq!(function.next_request().await.path, "restore/next");
    let crash = event([json!({ "do": "quit", "code": 1 }), json!({ "do": "succeed" })]);
    assert_eq!(function.respond(crash).await, failures(&["m0", "m1"]));
    std::fs::remove_file(&marker).unwrap();
    function.terminate();
    let (_, stdout, _) = function.exit().await;
    assert!(stdout.contains("FileExistsError"), "{stdout}");
}

#[tokio::test]
async fn sigterm_reaches_the_runtime() {
    for language in languages() {
        let mut function = start(language, &[]).await;
        function.respond(event([json!({ "do": "succeed" })])).await;
        function.terminate();
        let (code, _, stderr) = function.exit().await;
        assert_eq!((code, stderr.as_str()), (Some(128 + 15), ""), "{language:?}");
    }
}

/// The messages are not at fault, and Lambda's init is over.
#[tokio::test]
async fn a_function_that_cannot_start_again_is_an_outage() {
    for language in languages() {
        let marker = language.folder().join(format!("started-{}", std::process::id()));
        let variables = [("INIT", "once"), ("MARKER", marker.to_str().unwrap())];
        let mut function = start(language, &variables).await;
        let ok = || json!({ "do": "succeed" });
        let bodies = [ok(), json!({ "do": "exit", "code": 1 }), ok(), ok(), ok(), ok()];
        assert_eq!(
            function.respond(event(bodies)).await,
            failures(&["m1", "m2", "m3", "m4", "m5"]),
            "{language:?}"
        );
        std::fs::remove_file(&marker).unwrap();
        function.terminate();
        let (_, stdout, _) = function.exit().await;
        assert!(stdout.contains("a dependency is down"), "{language:?}: {stdout}");
    }
}

#[tokio::test]
async fn a_slow_start_continues_for_the_next_message() {
    let folder = Language::Python.folder();
    let marker = folder.join(format!("slow-{}", std::process::id()));
    let variables = [("INIT", "slow"), ("MARKER", marker.to_str().unwrap()), ("REDRIVE_TIME_LIMIT", "2")];
    let mut function = start(Language::Python, &variables).await;
    let ok = || json!({ "do": "succeed" });
    let response = function.respond(event([json!({ "do": "hang" }), ok(), ok(), ok()])).await;
    std::fs::remove_file(&marker).unwrap();
    assert_eq!(response, failures(&["m0", "m1"]));
}

/// Otherwise, a forged event would make it refuse its own queue from then on.
#[tokio::test]
async fn after_an_event_of_a_second_queue_it_ends() {
    let mut function = start(Language::Python, &[("REDRIVE_MAX_RECEIVE_COUNT", "5")]).await;
    let batch = event([json!({ "do": "succeed" })]);
    assert_eq!(function.respond(batch.clone()).await, failures(&[]));
    let other = batch.to_string().replace(":orders", ":others");
    function.offer("r2", other.as_bytes(), LEFT, &[]);
    assert_eq!(function.next_request().await.path, "invocation/r2/error");
    let (code, _, stderr) = function.exit().await;
    assert_eq!(code, Some(1), "{stderr}");
}

#[tokio::test]
async fn streamed_responses_pass_and_count() {
    if !languages().contains(&Language::Node) {
        return;
    }
    let variables = [
        ("_HANDLER", "app.streamed"),
        ("REDRIVE_CLASSIFY", "CardError *the middle*=done, CardError x*=done"),
    ];
    let mut function = start(Language::Node, &variables).await;
    let pieces = |pieces: &[&str]| json!({ "pieces": pieces });
    function.offer("r1", pieces(&["a", "é"]).to_string().as_bytes(), LEFT, &[]);
    let request = function.next_request().await;
    assert_eq!((request.path.as_str(), request.body.as_slice()), ("invocation/r1/response", "aé".as_bytes()));
    assert_eq!(request.headers["lambda-runtime-function-response-mode"], "streaming");
    function.offer("r2", pieces(&["a", "raise"]).to_string().as_bytes(), LEFT, &[]);
    assert_eq!(function.next_request().await.headers["lambda-runtime-function-error-type"], "CardError");
    let reported = "{\"batchItemFailures\": [{\"itemIdentifier\": \"m1\"}]}";
    let long = "x".repeat(300_000);
    let batch = [
        pieces(&[]),
        pieces(&["{\"batch", "ItemFailures\": []}"]),
        pieces(&["{", "raise"]),
        pieces(&["{", "raise", &long]),
        pieces(&["{", "raise", "for another reason"]),
    ];
    assert_eq!(function.respond(event(batch)).await, failures(&["m4"]));
    let batch = [pieces(&["null"]), pieces(&[reported])];
    assert_eq!(function.respond(event(batch)).await, failures(&["m1"]));
}

async fn careless(variables: &[(&str, &str)]) -> Function {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/functions/careless.py");
    let command = ["python3", script].map(str::to_owned);
    Function::start(&command, &Language::Python.folder(), variables).await
}

#[tokio::test]
async fn only_a_whole_answer_to_the_current_invocation_counts() {
    let mut function = careless(&[]).await;
    let batch = event([json!({ "do": "twice" }), json!({ "do": "half" }), json!({ "do": "twice" })]);
    assert_eq!(function.respond(batch).await, failures(&["m1"]));
    assert_eq!(function.respond(event([json!({ "do": "twice" })])).await, failures(&[]));
    function.terminate();
    let (_, stdout, _) = function.exit().await;
    // The last line may come too late.
    let told: Vec<_> = stdout.lines().filter(|line| line.starts_with("told")).collect();
    assert!(told.len() >= 2 && told.iter().all(|line| *line == "told [400, 400, 202, 400]"), "{stdout}");
}

/// A child that the function forked may answer late. Older clients do not send the invocation id.
#[tokio::test]
async fn a_late_answer_to_one_message_does_not_count_for_the_next() {
    let mut function = careless(&[]).await;
    let [twice, late, half] = ["twice", "late", "half"].map(|what| json!({ "do": what }));
    let batch = [twice.clone(), late.clone(), half, twice, late];
    assert_eq!(function.respond(event(batch)).await, failures(&["m1", "m2", "m4"]));
    function.terminate();
    let (_, stdout, _) = function.exit().await;
    let told: Vec<_> = stdout.lines().filter(|line| line.starts_with("late")).collect();
    assert_eq!(told, ["late 400"; 2], "{stdout}");
}

/// A second wrapper may lead the runtime to Lambda itself.
#[tokio::test]
async fn a_runtime_that_asks_redrive_for_no_event_is_noticed() {
    let command = ["sh", "-c", "sleep 30"].map(str::to_owned);
    let function = Function::start(&command, &Language::Python.folder(), &[]).await;
    let (code, _, stderr) = function.exit().await;
    let expected = "redrive: the function has asked redrive for no event within 10 s. If it handles events, ";
    assert!(code == Some(0) && stderr.starts_with(expected) && stderr.lines().count() == 1, "{stderr}");
}

/// The response of one message must not be that of the batch.
#[tokio::test]
async fn no_other_path_reaches_the_invocation_of_the_batch() {
    let mut function = careless(&[]).await;
    let batch = event([json!({ "do": "around" }), json!({ "do": "silent" })]);
    assert_eq!(function.respond(batch).await, failures(&["m1"]));
    function.terminate();
    let (_, stdout, _) = function.exit().await;
    assert!(stdout.contains("around [400, 404, 404, 404, 404, 404]\n"), "{stdout}");
}

#[tokio::test]
async fn an_error_with_a_long_header_is_one_of_the_function() {
    let mut function = careless(&[("REDRIVE_CLASSIFY", "Runtime.Unknown=done")]).await;
    let batch = event([json!({ "do": "loud" }), json!({ "do": "silent" })]);
    assert_eq!(function.respond(batch).await, failures(&["m1"]));
}

/// Lambda would wait for the extension after each invocation, until the function's timeout.
#[tokio::test]
async fn after_the_end_of_a_process_with_an_extension_inside_ours_ends() {
    let mut function = careless(&[("EXTENSION", "")]).await;
    assert_eq!(function.next_request().await.path, "/2020-01-01/extension/register");
    assert_eq!(function.respond(event([json!({ "do": "twice" })])).await, failures(&[]));
    function.offer("r1", event([json!({ "do": "gone" })]).to_string().as_bytes(), LEFT, &[]);
    assert_eq!(function.next_request().await.json(), failures(&["m0"]));
    let (code, _, stderr) = function.exit().await;
    let expected = "redrive: the function's process ended, and an extension inside of it\n";
    assert_eq!((code, stderr.as_str()), (Some(1), expected));
}

#[tokio::test]
async fn a_runtime_that_asks_again_without_an_answer_fails_the_message_at_once() {
    let mut function = careless(&[("DROP", "")]).await;
    assert_eq!(
        function.next_request().await.path,
        "/2022-07-01/telemetry",
        "it has dropped its first request"
    );
    let begun = std::time::Instant::now();
    let batch = event([json!({ "do": "twice" }), json!({ "do": "silent" }), json!({ "do": "twice" })]);
    assert_eq!(function.respond(batch).await, failures(&["m1"]));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    function.terminate();
    let (_, stdout, _) = function.exit().await;
    assert!(stdout.contains("asked for the next invocation without an answer"), "{stdout}");
    let function = careless(&[]).await;
    function.offer("r1", b"\"silent\"", LEFT, &[]);
    let (code, _, stderr) = function.exit().await;
    assert!(code == Some(1) && stderr.starts_with("redrive: Runtime.NoAnswer: "), "{code:?} {stderr}");
}
