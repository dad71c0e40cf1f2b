//! The template of a worker: the parts that it shares with the function's template, and its own.

use std::collections::{BTreeMap, BTreeSet};

use redrive::Metrics;
use redrive::tools::metric_names;
use redrive_iac::Node;
use serde_json::{Value, json};

use super::{OwnTemplate, RUNBOOK, TEMPLATE, WITH_EMAIL, rules, text};

const WORKER: &str = include_str!("../../../../../examples/deploy/worker.yaml");
pub(super) const GIVEN: [(&str, &str); 4] =
    [("Repository", "orders"), ("ImageTag", "1"), ("Subnets", "subnet-1"), ("SecurityGroups", "sg-1")];

/// Parts that are equal in both templates, so that rules on one cover the other.
const SHARED: [(&str, &[&str]); 3] = [
    (
        "Parameters",
        &[
            "Fifo",
            "MaxReceiveCount",
            "KmsKeyArn",
            "Idempotency",
            "Schedules",
            "ErrorThreshold",
            "AlarmOnDeadLetters",
            "NotificationEmail",
            "RunbookUrl",
        ],
    ),
    (
        "Conditions",
        &[
            "IsFifo",
            "PutsMetrics",
            "HasMetrics",
            "AlarmsOnDeadLetters",
            "AlarmsOnDeadLetterMetric",
            "HasNotificationEmail",
            "HasRunbookUrl",
            "HasKmsKey",
            "IsIdempotent",
            "HasSchedules",
        ],
    ),
    (
        "Resources",
        &[
            "OrdersQueue",
            "DeadLetterQueue",
            "OrdersQueuePolicy",
            "DeadLetterQueuePolicy",
            "ScheduleRole",
            "IdempotencyTable",
            "AlarmTopic",
            "AlarmTopicPolicy",
            "DeadLetterAlarm",
            "DeadLetteredAlarm",
            "WorkerErrorsAlarm",
            "OutageAlarm",
            "QueueAgeAlarm",
        ],
    ),
];
/// Properties of shared resources that differ.
const DIFFERENT: [(&str, &str); 2] =
    [("OrdersQueue", "VisibilityTimeout"), ("QueueAgeAlarm", "AlarmDescription")];

fn worker() -> OwnTemplate<'static> {
    OwnTemplate { given: &GIVEN, ..OwnTemplate::of(WORKER, RUNBOOK) }
}

fn shared(template: &OwnTemplate<'_>, section: &str, name: &str) -> Value {
    let declared = template.declared(section).iter().find(|(other, _)| other == name);
    let mut declared = declared.unwrap_or_else(|| panic!("there is no {name}")).1.to_json();
    for (_, property) in DIFFERENT.iter().filter(|(of, _)| *of == name) {
        declared["Properties"][property] = Value::Null;
    }
    declared
}

#[test]
fn its_queues_and_alarms_are_those_of_the_function() {
    let (function, worker) = (OwnTemplate::of(TEMPLATE, RUNBOOK), worker());
    for (section, names) in SHARED {
        for name in names {
            assert_eq!(shared(&function, section, name), shared(&worker, section, name), "{name}");
        }
    }
}

fn widgets(template: &OwnTemplate<'_>) -> Vec<Value> {
    let stack = template.with(&[]);
    let dashboard = stack.all("AWS::CloudWatch::Dashboard").next().unwrap();
    let body: Value = serde_json::from_str(text(&dashboard.properties, "DashboardBody")).unwrap();
    body["widgets"].as_array().unwrap().clone()
}

#[test]
fn its_dashboard_begins_as_that_of_the_function() {
    assert_eq!(widgets(&OwnTemplate::of(TEMPLATE, RUNBOOK))[..6], widgets(&worker())[..6]);
}

#[test]
fn its_dashboard_shows_exactly_the_metrics_of_redrive() {
    let widgets = widgets(&worker());
    let rows = widgets.iter().flat_map(|widget| widget["properties"]["metrics"].as_array().unwrap());
    let (mut namespace, mut shown) = (String::new(), BTreeSet::new());
    for row in rows.filter_map(|row| row.as_array().filter(|row| row.len() > 1)) {
        let [space, name] = [0, 1].map(|at: usize| row[at].as_str().unwrap());
        if space != "." {
            space.clone_into(&mut namespace);
        }
        if namespace == "Redrive" {
            shown.insert(name);
        }
    }
    assert_eq!(shown, metric_names(Metrics::Emf).iter().copied().collect());
}

#[test]
fn it_keeps_every_rule_that_is_not_about_functions() {
    let wrong: Vec<_> = rules::OF_ALL.iter().flat_map(|(_, rule)| rule(&worker())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn its_alarms_are_there_with_the_metrics_that_they_watch() {
    let ids = |metrics: &str| -> Vec<String> {
        let stack = worker().with(&[("Metrics", metrics), WITH_EMAIL]);
        let alarms = stack.deployment.alarms.iter().flatten().filter(|alarm| alarm.metric.is_some());
        alarms.map(|alarm| alarm.id.trim_end_matches("Alarm").to_owned()).collect()
    };
    let all = ["DeadLetter", "DeadLettered", "WorkerErrors", "Outage", "LeaseLost", "NoWorkers", "QueueAge"];
    assert_eq!(
        (ids("cloudwatch"), ids("emf")),
        (all.map(str::to_owned).to_vec(), all.map(str::to_owned).to_vec())
    );
    assert_eq!(ids("off"), ["DeadLetter", "QueueAge"]);
}

#[test]
fn its_task_may_do_no_more_than_it_needs() {
    let queue = |name: &str| format!("arn:aws:sqs:eu-west-1:123456789012:stack-{name}");
    let granted = |given: &[(&str, &str)]| -> BTreeMap<String, String> {
        let stack = worker().with(given);
        let statements = stack.deployment.workers[0].process.statements.clone().unwrap();
        let of = statements.into_iter().flat_map(|it| {
            let to = super::scope(&it);
            it.actions.into_iter().map(move |action| (action, to.clone()))
        });
        of.collect()
    };
    let needed = |more: &[(&str, &str)]| -> BTreeMap<String, String> {
        let actions = ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "ChangeMessageVisibility"];
        let work = actions.map(|action| (format!("sqs:{action}"), queue("orders")));
        let more = more.iter().map(|(action, to)| ((*action).to_owned(), (*to).to_owned()));
        work.into_iter().chain([("sqs:SendMessage".to_owned(), queue("orders-dead"))]).chain(more).collect()
    };
    let metrics = ("cloudwatch:PutMetricData", "* if cloudwatch:namespace=Redrive");
    assert_eq!(granted(&[]), needed(&[metrics]));
    assert_eq!(granted(&[("Metrics", "emf")]), needed(&[]));
    let tasks =
        "arn:aws:ecs:eu-west-1:123456789012:task/default/* if aws:ResourceTag/redrive-service=stack-orders";
    let protection = [("ecs:UpdateTaskProtection", tasks), ("ecs:GetTaskProtection", tasks), metrics];
    assert_eq!(granted(&[("TaskProtection", "on")]), needed(&protection));
    let table = "arn:aws:dynamodb:eu-west-1:123456789012:table/stack-IdempotencyTable";
    let records: Vec<_> = super::RECORD_ACTIONS.map(|it| (it, table)).into_iter().chain([metrics]).collect();
    assert_eq!(granted(&[super::WITH_IDEMPOTENCY]), needed(&records));
    let key = super::key_grant(super::KEY, false);
    let keys = [("kms:Decrypt", key.as_str()), ("kms:GenerateDataKey", &key), metrics];
    assert_eq!(granted(&[("KmsKeyArn", super::KEY)]), needed(&keys));
}

#[test]
fn an_image_of_redrive_puts_an_app_beside_it() {
    let containers = |given: &[(&str, &str)]| -> Vec<Value> {
        let stack = worker().with(given);
        let task = stack.all("AWS::ECS::TaskDefinition").next().unwrap();
        let containers = task.properties.items_at("ContainerDefinitions").iter();
        containers.map(Node::to_json).collect()
    };
    let own = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/orders:1";
    let [worker] = &containers(&[])[..] else { panic!("more than a worker") };
    assert_eq!(
        (&worker["Image"], &worker["Command"], &worker["DependsOn"]),
        (&json!(own), &Value::Null, &Value::Null)
    );
    let [redrive, app] = &containers(&[("RedriveImage", "redrive:1")])[..] else {
        panic!("no app beside it")
    };
    assert_eq!((&redrive["Image"], &app["Image"]), (&json!("redrive:1"), &json!(own)));
    let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/stack-orders";
    assert_eq!(redrive["Command"], json!(["work", "--queue", queue, "--http", "http://127.0.0.1:8080/"]));
    assert_eq!(redrive["DependsOn"], json!([{"ContainerName": app["Name"], "Condition": "START"}]));
}

#[test]
fn a_task_is_killed_no_sooner_than_its_drain_and_five_seconds_later() {
    let template = worker();
    let drains = template.declared("Parameters").iter().find(|(name, _)| name == "Drain").unwrap();
    let allowed = drains.1.get("AllowedValues").and_then(Node::as_list).unwrap();
    for drain in allowed.iter().map(|it| it.as_text().unwrap()) {
        let stack = template.with(&[("Drain", drain)]);
        let grace = stack.deployment.workers[0].grace_period.unwrap().as_secs();
        assert_eq!(grace, drain.parse::<u64>().unwrap() + 5);
        assert!(grace <= 120, "Fargate refuses more");
    }
}
