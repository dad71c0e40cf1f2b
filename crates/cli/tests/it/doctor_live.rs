//! `redrive doctor --function` and `--stack`: deployments in `redrive local`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use aws_sdk_cloudwatch::types::{ComparisonOperator, Dimension, Statistic};
use aws_sdk_sqs::types::QueueAttributeName;
use redrive_local::{Config, FunctionConfig, MappingConfig, QueueConfig, StackConfig, StackResource};
use serde_json::Value;

use crate::proxy::Proxy;
use crate::support::running::{Running, built, free_port, root, wait_for};
use crate::support::{ACCOUNT, Aws, REGION, Ran, client, command_at, orders};

/// Our own template as the stack `shop`, with a table.
fn shop() -> (Running, String, impl BufRead) {
    let port = free_port();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let port_as_text = port.to_string();
    let place = ["--stack", "shop", "--region", REGION, "--port", &port_as_text];
    let arguments = [&place[..], &["--parameter", "Idempotency=on"]].concat();
    let mut running = Running::start(&root, &built("orders"), &arguments);
    let stdout = BufReader::new(running.0.stdout.take().expect("stdout is piped"));
    wait_for(port);
    (running, format!("http://127.0.0.1:{port}"), stdout)
}

fn doctor(url: &str, arguments: &[&str]) -> (Ran, Value) {
    let mut command = command_at(url, &[&["doctor", "--json"], arguments].concat());
    let ran = Ran::new(&command.output().expect("it runs"));
    let report = serde_json::from_str(&ran.stdout).unwrap_or_default();
    (ran, report)
}

fn texts(report: &Value) -> Vec<&str> {
    report["not_seen"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn codes(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().into_iter().flatten();
    findings
        .map(|finding| {
            let [code, what] = ["code", "what"].map(|key| finding[key].as_str().unwrap_or_default());
            (code, what)
        })
        .collect()
}

/// Without a ScalingConfig in the template.
#[test]
fn a_stack_that_runs_here_has_not_drifted() {
    let folder = tempfile::tempdir().expect("a folder");
    let template = std::fs::read_to_string(root().join("template.yaml")).expect("it is there");
    let scaling = "            ScalingConfig:\n              MaximumConcurrency: !Ref MaximumConcurrency\n";
    assert!(template.contains(scaling), "{template}");
    std::fs::write(folder.path().join("template.yaml"), template.replace(scaling, ""))
        .expect("it is written");
    let port = free_port();
    let arguments = ["--stack", "shop", "--region", REGION, "--port", &port.to_string()];
    let running = Running::start(folder.path(), &built("orders"), &arguments);
    wait_for(port);
    let (ran, report) = doctor(&format!("http://127.0.0.1:{port}"), &["--stack", "shop"]);
    let drifts: Vec<_> = codes(&report).into_iter().filter(|(code, _)| *code == "stack-drifts").collect();
    assert_eq!((ran.stderr.as_str(), drifts), ("", vec![]), "{ran:?}");
    drop(running);
}

#[test]
fn a_function_is_checked_with_the_permissions_in_its_template() {
    let (running, url, stdout) = shop();
    let (ran, report) = doctor(&url, &["--function", "shop-orders"]);
    assert_eq!((ran.code, &report["subject"]), (0, &"shop-orders".into()), "{ran:?}");
    let unknown = texts(&report).into_iter().filter(|text| text.contains("permissions")).count();
    assert_eq!(unknown, 0, "the stack was found by its function, and its template read: {report}");
    let tables = |report: &Value| {
        let texts = texts(report).into_iter().filter(|text| text.contains("table"));
        texts.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(tables(&report), Vec::<String>::new());
    let denied = Proxy::refusing(&url, [("GetTemplate", "AccessDenied", "not you")]);
    let (ran, report) = doctor(&denied.url, &["--function", "shop-orders"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let unknown = texts(&report).into_iter().filter(|text| text.contains("permissions")).count();
    assert_eq!(unknown, 1, "{report}");
    let table = "the idempotency table of shop-orders: shop-IdempotencyTable is not in its stack's template";
    assert_eq!(tables(&report), [table]);
    let (none, _) = doctor(&url, &["--function", "no-such"]);
    assert_eq!((none.code, none.stderr.lines().count()), (1, 1), "{none:?}");
    running.stop(stdout);
}

#[test]
fn without_permission_to_list_resources_the_template_names_them() {
    let (running, url, stdout) = shop();
    let (_, whole) = doctor(&url, &["--stack", "shop"]);
    let list = ("ListStackResources", "AccessDenied", "not you");
    let (ran, report) = doctor(&Proxy::refusing(&url, [list]).url, &["--stack", "shop"]);
    assert_eq!((ran.code, codes(&report)), (0, codes(&whole)), "{ran:?}");
    assert!(!codes(&report).is_empty(), "alarms without actions are found by their queues and functions");
    let known = texts(&whole);
    let new: Vec<_> = texts(&report).into_iter().filter(|text| !known.contains(text)).collect();
    let [resources, drift] = new[..] else { panic!("{new:?}") };
    assert!(resources.contains("your credentials need cloudformation:ListStackResources"), "{resources}");
    assert!(drift.starts_with("drift: "), "{drift}");

    let both = [list, ("GetTemplate", "AccessDenied", "not you")];
    let (ran, _) = doctor(&Proxy::refusing(&url, both).url, &["--stack", "shop"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{ran:?}");
    assert!(ran.stderr.contains("your credentials need cloudformation:ListStackResources"), "{ran:?}");
    running.stop(stdout);
}

/// SQS takes that, and so does `redrive local`.
#[tokio::test]
async fn a_live_queue_that_is_its_own_dead_letter_queue_is_an_error() {
    let (running, url, stdout) = shop();
    let sqs = client(&url, REGION);
    let asked = sqs.get_queue_url().queue_name("shop-orders").send().await.expect("it is there");
    let queue = asked.queue_url.expect("it is told");
    let name = QueueAttributeName::QueueArn;
    let asked = sqs.get_queue_attributes().queue_url(&queue).attribute_names(name.clone()).send().await;
    let arn = asked.expect("it is there").attributes.expect("they are told")[&name].clone();
    let own = format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":10}}"#);
    let change =
        sqs.set_queue_attributes().queue_url(&queue).attributes(QueueAttributeName::RedrivePolicy, own);
    change.send().await.expect("it is allowed");
    let (ran, report) = doctor(&url, &["--stack", "shop"]);
    for (code, part) in
        [("dead-letters-return", " is its own dead-letter queue."), ("stack-drifts", "RedrivePolicy of ")]
    {
        let is_told = codes(&report).iter().any(|(found, what)| *found == code && what.contains(part));
        assert!(is_told, "{code}: {report}");
    }
    assert_eq!(ran.code, 1, "{report}");
    running.stop(stdout);
}

#[test]
fn a_call_that_is_denied_is_named_and_no_fault() {
    let (running, url, stdout) = shop();
    for (call, unseen) in [
        ("GetTemplate", "the permissions of"),
        ("DescribeAlarms", "alarms"),
        ("/concurrency", "the reserved concurrency of"),
        ("/event-source-mappings", "the event source mappings of"),
        ("/event-invoke-config", "the destinations of"),
        ("/configuration", "the function"),
        ("GetQueueAttributes", "the queue"),
    ] {
        let denied = Proxy::refusing(&url, [(call, "AccessDeniedException", "not you")]);
        // Here no alarm does anything.
        let known = ["--stack", "shop", "--except", "alarm-without-action"];
        let (_, report) = doctor(&denied.url, &known);
        let is_named = texts(&report).iter().any(|note| note.starts_with(unseen));
        assert!(codes(&report).is_empty() && is_named, "without {call}: {report}");
    }
    running.stop(stdout);
}

/// The stack `shop` with the function `worker`, which the queue of this name feeds.
fn worker_of(source: &str, queues: Vec<QueueConfig>, template: &str) -> Aws {
    let resource = |(logical, physical, kind): (&str, &str, &str)| StackResource {
        logical_id: logical.to_owned(),
        physical_id: physical.to_owned(),
        kind: kind.to_owned(),
    };
    let url = format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{source}");
    let resources = [
        ("Source", url.as_str(), "AWS::SQS::Queue"),
        ("Role", "worker", "AWS::IAM::Role"),
        ("Worker", "worker", "AWS::Lambda::Function"),
    ];
    let function = FunctionConfig {
        name: "worker".to_owned(),
        command: built("puppet"),
        timeout: Duration::from_secs(3),
        ..FunctionConfig::default()
    };
    let mapping = MappingConfig {
        queue: source.to_owned(),
        function: function.name.clone(),
        ..MappingConfig::default()
    };
    let own = format!(
        "
Resources:
  Source: {{Type: AWS::SQS::Queue, Properties: {{QueueName: {source}}}}}
  Role: {{Type: AWS::IAM::Role, Properties: {{RoleName: worker}}}}
  Worker: {{Type: AWS::Lambda::Function, Properties: {{FunctionName: worker, Role: !GetAtt Role.Arn}}}}
{template}"
    );
    Aws::of(Config {
        queues,
        functions: vec![function],
        mappings: vec![mapping],
        stack: Some(StackConfig {
            name: "shop".to_owned(),
            template: own,
            resources: resources.map(resource).into(),
            ..StackConfig::default()
        }),
        ..Config::default()
    })
}

#[test]
fn a_queue_s_own_policy_may_allow_what_a_role_does_not() {
    let statement = |principal: &str| {
        format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Principal":{principal},"Action":"sqs:*"}}]}}"#
        )
    };
    let role = statement(r#"{"AWS":"arn:aws:iam::123456789012:role/worker"}"#);
    let service = statement(r#"{"Service":"sns.amazonaws.com"}"#);
    for (policy, is_found) in [(None, true), (Some(role), false), (Some(service), true)] {
        let mut queues = orders(false);
        queues[1].attributes.extend(policy.clone().map(|policy| ("Policy".to_owned(), policy)));
        let aws = worker_of("orders", queues, "");
        let (ran, report) = doctor(&aws.url, &["--function", "worker"]);
        let found = codes(&report).iter().any(|(code, _)| *code == "permission-poll");
        assert_eq!(found, is_found, "{policy:?}: {report} {ran:?}");
    }
}

#[test]
fn a_worker_of_a_deployed_stack_is_as_its_template_has_it() {
    for (stop_timeout, is_found) in [(20, true), (30, false)] {
        let container = format!(
            "{{Name: work, StopTimeout: {stop_timeout}, Environment: [{{Name: REDRIVE_QUEUE_URL, Value: !Ref Source}}]}}"
        );
        let task = format!(
            "  Task: {{Type: AWS::ECS::TaskDefinition, Properties: {{ContainerDefinitions: [{container}]}}}}"
        );
        let aws = worker_of("orders", orders(false), &task);
        let short = "StopTimeout of Task is 20 s, but REDRIVE_DRAIN (25 s) and 5 s for settling are 30 s.";
        let expected = is_found.then_some(("grace-period-short", short));
        let (ran, report) = doctor(&aws.url, &["--stack", "shop", "--only", "grace-period-short"]);
        assert_eq!(codes(&report).first().copied(), expected, "{report} {ran:?}");
        let (_, report) = doctor(&aws.url, &["--function", "worker", "--only", "grace-period-short"]);
        assert_eq!(codes(&report), [], "it is none of the function's: {report}");
    }
}

#[test]
fn the_letters_of_a_subscription_that_is_deployed_need_no_redrive_policy() {
    let hook = "  Hook: {Type: AWS::SNS::Subscription, Properties: {Protocol: https, RedrivePolicy: {deadLetterTargetArn: !GetAtt Source.Arn}}}";
    for (template, is_found) in [("", true), (hook, false)] {
        let letters = QueueConfig { name: "letters".to_owned(), ..QueueConfig::default() };
        let aws = worker_of("letters", vec![letters], template);
        let (ran, report) = doctor(&aws.url, &["--stack", "shop"]);
        let found = codes(&report).iter().any(|(code, _)| *code == "redrive-policy-missing");
        assert_eq!(found, is_found, "{template}: {report} {ran:?}");
    }
}

#[test]
fn a_deployed_queue_policy_with_another_topic_is_found() {
    let subscribed = "  Sold: {Type: AWS::SNS::Subscription, Properties: {Protocol: sqs, TopicArn: 'arn:aws:sns:eu-west-1:1:sold', Endpoint: !GetAtt Source.Arn}}";
    for (topic, is_found) in [("returned", true), ("sold", false)] {
        let mut letters = QueueConfig { name: "letters".to_owned(), ..QueueConfig::default() };
        let policy = format!(
            r#"{{"Statement":{{"Effect":"Allow","Principal":{{"Service":"sns.amazonaws.com"}},"Action":"sqs:SendMessage",
            "Condition":{{"ArnEquals":{{"aws:SourceArn":"arn:aws:sns:eu-west-1:1:{topic}"}}}}}}}}"#
        );
        letters.attributes.insert("Policy".to_owned(), policy);
        let aws = worker_of("letters", vec![letters], subscribed);
        let (ran, report) = doctor(&aws.url, &["--stack", "shop"]);
        let found = codes(&report).iter().any(|(code, _)| *code == "queue-policy-refuses");
        assert_eq!(found, is_found, "{topic}: {report} {ran:?}");
    }
}

#[test]
fn a_live_queue_that_everybody_may_use_is_found_by_its_policy() {
    let mut queues = orders(false);
    let policy =
        r#"{"Statement":{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sqs:*","Resource":"*"}}"#;
    queues[1].attributes.insert("Policy".to_owned(), policy.to_owned());
    let aws = Aws::start(queues);
    let ran = aws.redrive(&["doctor", "--all", "--only", "queue-policy-open"]);
    ran.ended(0).stdout_starts(
        "warning queue-policy-open at orders\n  The policy of orders allows sqs:DeleteMessage and ",
    );
}

#[test]
fn a_relative_link_of_a_live_alarm_is_found() {
    let aws = Aws::start(orders(false));
    let config = aws_sdk_cloudwatch::Config::builder()
        .behavior_version(aws_sdk_cloudwatch::config::BehaviorVersion::latest())
        .region(aws_sdk_cloudwatch::config::Region::new(REGION))
        .credentials_provider(aws_sdk_cloudwatch::config::Credentials::new(
            "local", "local", None, None, "tests",
        ))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(&aws.url);
    let alarm = aws_sdk_cloudwatch::Client::from_conf(config.build())
        .put_metric_alarm()
        .alarm_name("letters")
        .alarm_description("What to do: docs/runbook.md#deadletter")
        .namespace("AWS/SQS")
        .metric_name("ApproximateNumberOfMessagesVisible")
        .dimensions(Dimension::builder().name("QueueName").value("orders-dead").build())
        .statistic(Statistic::Maximum)
        .comparison_operator(ComparisonOperator::GreaterThanOrEqualToThreshold)
        .threshold(1.0)
        .period(60)
        .evaluation_periods(1);
    aws.wait(alarm.send()).expect("it is put");
    aws.redrive(&["doctor", "--all", "--only", "alarm-link-relative"]).ended(0).stdout_starts(
        "warning alarm-link-relative at letters (orders)\n  The description of letters links to docs/runbook.md#deadletter, which is a \
         relative link.",
    );
}
