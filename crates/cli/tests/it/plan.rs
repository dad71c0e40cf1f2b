//! `redrive plan` from outside.

use std::time::Duration;

use serde_json::Value;

use crate::support::running::root;
use crate::support::{Ran, command};

fn run(line: &str) -> Ran {
    let mut command = command(&format!("plan template.yaml --messages 100 {line}"));
    Ran::of(command.current_dir(root()).timeout(Duration::from_secs(240)))
}

fn scenario<'a>(plan: &'a Value, name: &str, errors: &str) -> &'a Value {
    let scenarios = plan["scenarios"].as_array().expect("a list");
    let found = scenarios.iter().find(|it| it["scenario"] == name && it["errors"] == errors);
    found.expect("it was simulated")
}

#[test]
fn only_outages_that_the_handler_names_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = folder.path().join("plan.svg");
    let plan =
        run(&format!("--json --scenario outage --outage 90m --svg {}", svg.display())).told(0, "").json();
    let (any, outage) = (scenario(&plan, "outage", "retry"), scenario(&plan, "outage", "outage"));
    let dead = any["dead_letters"].as_u64().expect("a number");
    assert!((60..100).contains(&dead), "{any}");
    assert_eq!((&outage["dead_letters"], &outage["expired"]), (&0.into(), &0.into()));
    let calls = |figures: &Value| figures["calls"].as_u64().expect("a number");
    assert!(calls(any) >= 10 * dead && calls(outage) < calls(any) / 3, "{any} {outage}");
    let lossless = plan["lossless"].as_array().expect("a list");
    assert!(lossless.iter().any(|it| it["max_receive_count"] == 10 && it["errors"] == "outage"));
    assert!(!lossless.iter().any(|it| it["max_receive_count"] == 10 && it["errors"] == "retry"));
    assert!(lossless.is_sorted_by_key(|it| it["cost"].as_f64()), "the cheapest first");
    let picture = std::fs::read_to_string(svg).expect("it was drawn");
    assert_eq!((picture.matches("<g ").count(), picture.matches("class=\"b\"").count()), (2, 2));
    for (name, errors) in [("burst", "retry"), ("noisy", "outage")] {
        let other = run(&format!("--json --scenario {name} --errors {errors}")).told(0, "").json();
        assert_eq!(scenario(&other, name, errors)["dead_letters"], 0);
    }
}

/// With a queue of each kind: messages in groups, or a retention period shorter than the outage.
fn template(queue: &str) -> String {
    format!(
        r#"Resources:
  Letters: {{Type: AWS::SQS::Queue, Properties: {{{queue}MessageRetentionPeriod: 1209600}}}}
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      {{{queue}VisibilityTimeout: 180, MessageRetentionPeriod: 600,
      RedrivePolicy: {{deadLetterTargetArn: !GetAtt Letters.Arn, maxReceiveCount: 100}}}}
  Place:
    Type: AWS::Lambda::Function
    Properties: {{Runtime: provided.al2023, Handler: bootstrap, Timeout: 30, Code: place.zip, Role: arn:aws:iam::123456789012:role/place}}
  Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      {{EventSourceArn: !GetAtt Orders.Arn, FunctionName: !Ref Place, FunctionResponseTypes: [ReportBatchItemFailures]}}
"#
    )
}

#[test]
fn messages_that_expire_are_told_and_may_fail_a_build() {
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, queue) in [("standard", ""), ("fifo", "FifoQueue: true, ")] {
        let path = folder.path().join(kind);
        std::fs::write(&path, template(queue)).expect("it is written");
        for host in ["", "--worker"] {
            let plan = |rest: &str| {
                let line = format!("plan {} --messages 100 {host} {rest}", path.display());
                Ran::of(command(&line).timeout(Duration::from_secs(240)))
            };
            let outage = "--scenario outage --outage 20m --errors outage --fail-if 'expired > 0'";
            let ran = plan(&format!("{outage} --json"));
            let expired = scenario(&ran.ended(1).json(), "outage", "outage")["expired"].clone();
            assert!(expired.as_u64().expect("a number") > 0, "{kind} {host}: {}", ran.stdout);
            ran.stderr_has(format!(
                "expired > 0 is met in outage with Failure::outage, where expired is {expired}"
            ));
            if kind == "fifo" {
                plan("--scenario burst --scenario noisy --errors outage")
                    .ended(0)
                    .stdout_has("dead  expired");
            }
        }
    }
}

#[test]
fn the_same_plan_has_the_same_figures() {
    let line = "--json --scenario noisy --errors retry";
    let first = run(line);
    first.told(0, "").json();
    assert_eq!(run(line).stdout, first.stdout);
}

#[test]
fn a_condition_that_is_met_fails() {
    let outage = "--scenario outage --outage 30m --fail-if";
    run(&format!("{outage} 'dead > 0' --errors retry"))
        .ended(1)
        .stderr_has("redrive: --fail-if: dead > 0 is met in outage with ?, where dead is ");
    run(&format!("{outage} 'dead > 0' --errors outage --fail-if 'recovery > 2h'"))
        .told(0, "")
        .stdout_has("REDRIVE_MAX_RECEIVE_COUNT to 3")
        .stdout_has("with .map_err(Failure::outage)");
}

#[test]
fn a_function_with_a_rate_is_refused_and_a_worker_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.yaml");
    let ours = std::fs::read_to_string(root().join("template.yaml")).expect("it is there");
    let metrics = "REDRIVE_METRICS: !Ref Metrics\n";
    let rated = ours.replace(metrics, &format!("{metrics}          REDRIVE_RATE: 50/s\n"));
    std::fs::write(&path, rated).expect("it is written");
    let plan = |host: &str| {
        let line = format!("plan {} --scenario burst --messages 100 {host}", path.display());
        Ran::of(command(&line).timeout(Duration::from_secs(240)))
    };
    plan("").printed(2, "").stderr_has("the rate (REDRIVE_RATE) is 50/s, allowed: none on Lambda");
    plan("--worker").ended(0);
}

#[test]
fn a_setting_that_cannot_be_simulated_is_wrong_input() {
    for (arguments, expected) in [
        ("--fail-if 'letters > 0'", "allowed fields: dead, expired, recovery, calls, cost"),
        ("--fail-if 'dead > many'", "allowed values: a number such as 0 or 2.5"),
        ("--rate fast", "allowed: messages per second, minute or hour, such as 10/s, 500/min or 20/h"),
        ("--outage 90d", "allowed: 1ms to 3d"),
        ("--scenario flood", "[possible values: outage, burst, noisy]"),
        ("--stack shop", "cannot be used with"),
    ] {
        run(arguments).printed(2, "").stderr_has(expected);
    }
}
