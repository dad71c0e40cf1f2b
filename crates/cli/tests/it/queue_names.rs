//! `redrive queue names`: finds the queue of a stack without outputs, and prints its names for a shell.

use std::process::Command;
use std::time::Duration;

use redrive_local::{Config, FunctionConfig, MappingConfig, QueueConfig, StackConfig, StackResource};
use serde_json::json;

use crate::proxy::{Fate, Proxy};
use crate::support::running::built;
use crate::support::{ACCOUNT, Aws, REGION, orders};

/// The stack `bare`, which has no outputs but these queues, and two functions, of which `worker` is fed by these.
fn bare(resources: &[&str], feeding: &[&str]) -> Aws {
    let resource = |kind: &str, physical: String| StackResource {
        logical_id: physical.rsplit('/').next().unwrap_or_default().to_owned(),
        physical_id: physical,
        kind: kind.to_owned(),
    };
    let url = |name: &&str| format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}");
    let function = |name: &str| FunctionConfig {
        name: name.to_owned(),
        command: built("puppet"),
        timeout: Duration::from_secs(3),
        ..FunctionConfig::default()
    };
    let mapping = |queue: &&str| MappingConfig {
        queue: (*queue).to_owned(),
        function: "worker".to_owned(),
        ..MappingConfig::default()
    };
    let other = QueueConfig { name: "other".to_owned(), ..QueueConfig::default() };
    let queues = resources.iter().map(|name| resource("AWS::SQS::Queue", url(name)));
    let functions = ["helper", "worker"].map(|name| resource("AWS::Lambda::Function", name.to_owned()));
    Aws::of(Config {
        queues: [orders(false), vec![other]].concat(),
        functions: vec![function("helper"), function("worker")],
        mappings: feeding.iter().map(mapping).collect(),
        stack: Some(StackConfig {
            name: "bare".to_owned(),
            resources: queues.chain(functions).collect(),
            ..StackConfig::default()
        }),
        ..Config::default()
    })
}

#[test]
fn a_stack_without_outputs_is_known_by_the_queue_that_feeds_its_function() {
    let aws = bare(&["orders-dead", "orders", "other"], &["orders"]);
    let report = aws.redrive("queue status --stack bare --json").ended(0).json();
    assert_eq!(
        (&report["queue"]["name"], &report["dead_letter_queue"]["name"]),
        (&"orders".into(), &"orders-dead".into())
    );
    aws.send("orders-dead", "{}");
    aws.redrive("dlq list --stack bare").ended(0).stderr_has("1 letter in orders-dead");
    aws.redrive("queue pause --stack bare").ended(0).stdout_starts("orders -> worker: Disabled");
    aws.redrive("send --stack bare --body {}").ended(0);
    let denied = Proxy::refusing(&aws.url, [("ListStackResources", "AccessDenied", "not you")]);
    denied.redrive("queue status --stack bare").ended(1).stderr_has(
        "the stack bare has no output QueueUrl: pass --queue or --function instead of --stack: could not list the \
         resources of bare: not allowed: your credentials need cloudformation:ListStackResources",
    );
}

#[test]
fn a_stack_with_several_queues_requires_a_choice() {
    for (resources, feeding, expected) in [
        (&["orders", "orders-dead"][..], &[][..], Ok("orders")),
        (&["orders-dead", "orders"], &["orders", "orders-dead"], Ok("orders")),
        (&[], &["other"], Ok("other")),
        (
            &["orders", "other"],
            &["orders", "other"],
            Err("the stack bare has several queues (orders, other): pass --queue\n"),
        ),
        (&["other", "orders"], &[], Err("the stack bare has several queues (other, orders): pass --queue\n")),
        (&[], &[], Err("the stack bare has no queue: pass --queue or --function\n")),
    ] {
        let ran = bare(resources, feeding).redrive("queue status --stack bare --json");
        match expected {
            Ok(name) => assert_eq!(ran.ended(0).json()["queue"]["name"], name, "{resources:?} {feeding:?}"),
            Err(why) => {
                ran.told(1, format!("redrive: {why}"));
            }
        }
    }
}

#[test]
fn the_names_are_the_same_by_stack_function_queue_and_dead_letter_queue() {
    let aws = bare(&["orders-dead", "orders"], &["orders"]);
    let by_stack = aws.redrive("queue names --stack bare").told(0, "").stdout.clone();
    for which in ["--function worker", "--queue orders", "--queue orders-dead"] {
        assert_eq!(aws.redrive(&format!("queue names {which}")).told(0, "").stdout, by_stack, "{which}");
    }
    let url = aws.queue_url("orders");
    for line in [
        "QUEUE='orders'",
        &format!("QUEUE_URL='{url}'"),
        &format!("QUEUE_ARN='arn:aws:sqs:{REGION}:{ACCOUNT}:orders'"),
        "DEAD_LETTER_QUEUE='orders-dead'",
        &format!("DEAD_LETTER_QUEUE_URL='{url}-dead'"),
        &format!("DEAD_LETTER_QUEUE_ARN='arn:aws:sqs:{REGION}:{ACCOUNT}:orders-dead'"),
        "FUNCTION='worker'",
        "LOG_GROUP='/aws/lambda/worker'",
    ] {
        assert!(by_stack.lines().any(|it| it == line), "no {line} in {by_stack}");
    }
    let mapping =
        by_stack.lines().find_map(|line| line.strip_prefix("MAPPING='")).expect("there is a mapping");
    assert_eq!(mapping.len(), 37, "{mapping}");
}

#[test]
fn a_missing_name_is_empty_and_the_reason_is_printed() {
    let aws = bare(&[], &[]);
    let ran = aws.redrive("queue names --queue orders");
    ran.told(0, "warning: orders feeds no function\n");
    assert!(ran.stdout.contains("DEAD_LETTER_QUEUE='orders-dead'\n"), "{ran:?}");
    assert!(ran.stdout.ends_with("FUNCTION=''\nLOG_GROUP=''\nMAPPING=''\n"), "{ran:?}");
    aws.redrive("queue names --queue other").ended(0).stdout_has("DEAD_LETTER_QUEUE_URL=''\n");
}

#[test]
fn after_a_failure_a_shell_knows_the_names_of_no_other_stack() {
    let aws = bare(&[], &["orders"]);
    let script = r#"QUEUE_URL=old MAPPING=old; eval "$1"; echo "$? ${QUEUE_URL-none} ${MAPPING-none}""#;
    for (arguments, code) in [("--stack no-such", 1), ("--stak bare", 2), ("", 2)] {
        let failed = aws.redrive(&format!("queue names {arguments}"));
        failed.ended(code);
        let output =
            Command::new("sh").args(["-c", script, "sh", &failed.stdout]).output().expect("a shell runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1 none none\n", "{arguments}");
    }
    assert_eq!(aws.redrive("queue names --help").ended(0).stdout.matches("unset ").count(), 0);
}

#[test]
fn a_log_group_that_is_assumed_is_said_to_be() {
    let aws = bare(&[], &["orders"]);
    let proxy = Proxy::start(&aws.url, |call, _| match call.action.contains("/configuration") {
        true => Fate::Refused(403, "AccessDeniedException"),
        false => Fate::Answered,
    });
    proxy
        .redrive("queue names --queue orders")
        .ended(0)
        .stdout_has("LOG_GROUP='/aws/lambda/worker'")
        .stderr_has("warning: the log group is assumed to be /aws/lambda/worker: lambda:GetFunctionConfiguration is not allowed");
}

/// Another queue of the same name may be in the region of the shell's own settings.
#[test]
fn the_region_and_the_endpoint_that_were_given_hold_for_the_next_command() {
    let aws = bare(&[], &["orders"]);
    // Which passes --region and --endpoint-url.
    let named = aws.redrive("queue names --queue orders").ended(0).stdout.clone();
    let elsewhere = |script: &str| {
        let output = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_redrive"), &named])
            .env_remove("AWS_PROFILE")
            .envs([("AWS_REGION", "eu-west-3"), ("AWS_DEFAULT_REGION", "eu-west-3")])
            .envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")])
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
            .output()
            .expect("a shell runs");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let paused = elsewhere(r#"eval "$1"; "$0" queue pause --queue "$QUEUE_ARN""#);
    assert!(paused.contains("orders -> worker: Disabled"), "{paused}");
    let other = elsewhere(r#"eval "$1"; AWS_REGION=eu-west-3 "$0" queue resume --queue "$QUEUE_ARN""#);
    assert!(other.contains(&format!("is in {REGION}, not in eu-west-3: pass --region {REGION}")), "{other}");
    let exported = elsewhere(r#"eval "$1"; env | grep ^AWS_DEFAULT_REGION"#);
    assert_eq!(exported, format!("AWS_DEFAULT_REGION={REGION}\n"));
}

#[test]
fn a_hostile_name_runs_nothing_in_the_shell_that_reads_it() {
    let aws = bare(&[], &["orders"]);
    let hostile = "'; echo FAKE; '$(echo FAKE >&2)`echo FAKE >&2`\u{1b}[2J\nFUNCTION=FAKE; echo FAKE";
    let proxy = Proxy::start(&aws.url, move |call, _| match call.action.contains("/configuration") {
        true => Fate::Answers(json!({ "LoggingConfig": { "LogGroup": hostile } })),
        false => Fate::Answered,
    });
    let ran = proxy.redrive("queue names --queue orders");
    assert!(ran.ended(0).stdout.contains("LOG_GROUP=''\\''; echo FAKE;"), "{ran:?}");
    let script = r#"eval "$1"; echo "$FUNCTION $MAPPING""#;
    let output = Command::new("sh").args(["-c", script, "sh", &ran.stdout]).output().expect("a shell runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.starts_with("worker ") && printed.lines().count() == 1, "{printed}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
