//! The rules that templates must keep.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use redrive::Metrics;
use redrive::tools::metric_names;
use redrive_iac::Node;
use redrive_iac::deployment::{IDEMPOTENCY_TABLE, PartialRedrivePolicy, Seen};
use redrive_sqs::RedriveAllowPolicy;
use serde_json::{Value, json};

use super::descriptions::{alarms_lead_to_their_runbook_entry, alarms_name_a_command_to_type};
use super::encryption::{a_key_encrypts_all_data_at_rest, requests_need_tls};
use super::names::stacks_do_not_collide;
use super::{ALARM, KEY, OwnTemplate, Rule, TOPIC, WITH_EMAIL, WITH_IDEMPOTENCY, run_checks, text};

/// Rules for the template of a function.
const OF_FUNCTIONS: [(&str, Rule); 5] = [
    ("nothing_is_found", nothing_is_found),
    ("the_function_knows_its_queues", the_function_knows_its_queues),
    (
        "the_dead_letter_alarm_goes_off_at_the_first_letter",
        the_dead_letter_alarm_goes_off_at_the_first_letter,
    ),
    ("alarms_watch_published_metrics", alarms_watch_published_metrics),
    ("permissions_are_the_least", permissions_are_the_least),
];

/// Rules for the templates of a function and of a worker.
pub(super) const OF_ALL: [(&str, Rule); 13] = [
    ("an_alarm_goes_off_if_an_outage_lasts", an_alarm_goes_off_if_an_outage_lasts),
    ("alarms_notify_the_address_if_there_is_one", alarms_notify_the_address_if_there_is_one),
    ("alarms_name_a_command_to_type", alarms_name_a_command_to_type),
    ("alarms_lead_to_their_runbook_entry", alarms_lead_to_their_runbook_entry),
    ("requests_need_tls", requests_need_tls),
    ("a_key_encrypts_all_data_at_rest", a_key_encrypts_all_data_at_rest),
    ("stacks_do_not_collide", stacks_do_not_collide),
    ("letters_outlive_the_stack", letters_outlive_the_stack),
    ("records_last_and_expire", records_last_and_expire),
    ("schedules_may_only_send", schedules_may_only_send),
    ("parameters_say_what_they_take", parameters_say_what_they_take),
    ("outputs_and_widgets_are_shown", outputs_and_widgets_are_shown),
    ("audit_requirements_are_met", audit_requirements_are_met),
];

pub(super) fn all() -> impl Iterator<Item = (&'static str, Rule)> {
    OF_FUNCTIONS.into_iter().chain(OF_ALL)
}

const TIMEOUTS: [&str; 8] = ["3", "10", "30", "60", "120", "300", "600", "900"];
const SINKS: [(&str, Metrics); 3] =
    [("cloudwatch", Metrics::CloudWatch), ("emf", Metrics::Emf), ("off", Metrics::Off)];
/// Values of `Fifo` and `BatchingWindow`.
const KINDS: [(&str, &str); 3] = [("false", "300"), ("false", "0"), ("true", "0")];
/// `KmsKeyArn`: without a key and with one.
const KEYS: [&str; 2] = ["", KEY];

fn nothing_is_found(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for timeout in TIMEOUTS {
        for (sink, _) in SINKS {
            for (fifo, window) in KINDS {
                let key = ("KmsKeyArn", KEYS[usize::from(window == "0")]);
                let kind = [("Fifo", fifo), ("BatchingWindow", window), key];
                for idempotency in ["off", "on"] {
                    let others = [("FunctionTimeout", timeout), ("Metrics", sink), WITH_EMAIL];
                    let stack =
                        template.with(&[&kind[..], &others, &[("Idempotency", idempotency)]].concat());
                    let found = run_checks(&stack.deployment);
                    wrong.extend(found.iter().map(|it| format!("{}: {}", it.check.code, it.found.what)));
                    wrong.extend(stack.deployment.lines_not_read().into_iter().map(str::to_owned));
                }
            }
        }
    }
    wrong
}

fn the_function_knows_its_queues(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, timeout) in TIMEOUTS.into_iter().enumerate() {
        let (count, (fifo, window)) = (["1", "10", "20"][at % 3], KINDS[at % 3]);
        let stack = template.with(&[
            ("FunctionTimeout", timeout),
            ("Fifo", fifo),
            ("BatchingWindow", window),
            ("MaxReceiveCount", count),
        ]);
        let ([source, dead], [function]) = (&stack.deployment.queues[..], &stack.deployment.functions[..])
        else {
            panic!("expected two queues and a function")
        };
        let visibility = source.visibility_timeout.map(|timeout| timeout.as_secs().to_string());
        for (name, expected) in [
            ("MAX_RECEIVE_COUNT", count),
            ("DEAD_LETTER_QUEUE_URL", &dead.url),
            ("VISIBILITY_TIMEOUT", visibility.as_deref().unwrap_or_default()),
        ] {
            let told = function.process.variable(&format!("REDRIVE_{name}"));
            if told != Seen::There(expected) {
                wrong.push(format!("{name} is {told:?}, not {expected}"));
            }
        }
        if function.timeout.map(|timeout| timeout.as_secs().to_string()).as_deref() != Some(timeout) {
            wrong.push(format!("the timeout is {:?}, not {timeout}", function.timeout));
        }
        let (target, allowed) = (Some(dead.arn.clone()), vec![source.arn.clone()]);
        let policy =
            PartialRedrivePolicy { dead_letter_target_arn: target, max_receive_count: count.parse().ok() };
        if source.redrive_policy != Seen::There(policy) || !dead.redrive_policy.is_absent() {
            wrong.push(format!("the redrive policies are {:?}", [source, dead].map(|it| &it.redrive_policy)));
        }
        if dead.redrive_allow_policy != Seen::There(RedriveAllowPolicy::ByQueue(allowed)) {
            wrong.push(format!("the redrive allow policy is {:?}", dead.redrive_allow_policy));
        }
        let kinds = stack.all("AWS::SQS::Queue").map(|queue| text(&queue.properties, "FifoQueue") == "true");
        if kinds.chain([source.is_fifo(), dead.is_fifo()]).any(|is_fifo| is_fifo != (fifo == "true")) {
            wrong.push(format!("with Fifo={fifo} {} or {} is not so", source.arn, dead.arn));
        }
    }
    wrong
}

fn the_dead_letter_alarm_goes_off_at_the_first_letter(template: &OwnTemplate<'_>) -> Vec<String> {
    let stack = template.with(&[]);
    let alarm = stack.alarm("DeadLetterAlarm").expect("it is there");
    let metric = alarm.metric.as_ref().expect("it has a metric");
    let told = (alarm.statistic.as_str(), alarm.comparison.as_str(), alarm.threshold);
    let when = (alarm.period, alarm.evaluation_periods, alarm.datapoints_to_alarm, &*alarm.missing_data);
    let dimensions = [("QueueName".to_owned(), stack.deployment.queues[1].name().to_owned())].into();
    let mut wrong = Vec::new();
    if (metric.name.as_str(), &metric.dimensions) != ("ApproximateNumberOfMessagesVisible", &dimensions)
        || told != ("Maximum", "GreaterThanOrEqualToThreshold", Some(1.0))
        || when != (Some(Duration::from_secs(60)), Some(1), Some(1), "notBreaching")
    {
        wrong.push(format!("DeadLetterAlarm is {alarm:?}"));
    }
    for (parameter, expected) in [
        (("Metrics", "emf"), &["DeadLetter", "DeadLettered", "WorkerErrors", "Outage"][..]),
        (("AlarmOnDeadLetters", "false"), &["WorkerErrors", "Outage"]),
        (("Metrics", "off"), &["DeadLetter"]),
    ] {
        let stack = template.with(&[parameter]);
        let there: Vec<_> = stack.all(ALARM).map(|alarm| alarm.id.trim_end_matches("Alarm")).collect();
        let expected = [expected, &["Throttles", "FunctionErrors", "QueueAge"]].concat();
        if there != expected {
            wrong.push(format!("with {parameter:?} there are {there:?}"));
        }
    }
    wrong
}

fn alarms_watch_published_metrics(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (sink, metrics) in SINKS {
        let stack = template.with(&[("Metrics", sink), ("ErrorThreshold", "3")]);
        let deployment = &stack.deployment;
        let namespace = deployment.functions[0].process.variable("REDRIVE_METRICS_NAMESPACE");
        let dimensions = [("QueueName".to_owned(), deployment.queues[0].name().to_owned())].into();
        let of_ours = deployment.alarms.iter().flatten().filter_map(|alarm| alarm.metric.as_ref());
        let of_ours: Vec<_> = of_ours.filter(|metric| !metric.namespace.starts_with("AWS/")).collect();
        let expected: &[&str] =
            if metrics == Metrics::Off { &[] } else { &["DeadLettered", "WorkerErrors", "Outages"] };
        let as_published = of_ours.iter().all(|metric| {
            metric_names(metrics).contains(&metric.name.as_str())
                && namespace == Seen::There(&*metric.namespace)
                && metric.dimensions == dimensions
        });
        let thresholds = stack.alarm("WorkerErrorsAlarm").is_none_or(|alarm| alarm.threshold == Some(3.0));
        let names = of_ours.iter().map(|metric| metric.name.as_str());
        if !(names.eq(expected.iter().copied()) && as_published && thresholds) {
            wrong.push(format!("with {sink} alarms watch {of_ours:?}"));
        }
    }
    wrong
}

/// A function that pauses for 5 minutes at a time has outages in every second period at least.
fn an_alarm_goes_off_if_an_outage_lasts(template: &OwnTemplate<'_>) -> Vec<String> {
    let stack = template.with(&[]);
    let alarm = stack.alarm("OutageAlarm").expect("it is there");
    let when = (alarm.period, alarm.evaluation_periods, alarm.datapoints_to_alarm, &*alarm.missing_data);
    let told = (alarm.statistic.as_str(), alarm.comparison.as_str(), alarm.threshold);
    let is_right = when == (Some(Duration::from_secs(300)), Some(3), Some(2), "notBreaching")
        && told == ("Sum", "GreaterThanOrEqualToThreshold", Some(1.0));
    if is_right { Vec::new() } else { vec![format!("OutageAlarm is {alarm:?}")] }
}

fn alarms_notify_the_address_if_there_is_one(template: &OwnTemplate<'_>) -> Vec<String> {
    let (told, silent) = (template.with(&[WITH_EMAIL]), template.with(&[]));
    let topics = [&told, &silent].map(|stack| stack.all("AWS::SNS::Topic").count());
    let mut wrong = Vec::new();
    if topics != [1, 0] {
        wrong.push("there must be a topic with an address and none without".to_owned());
    }
    for (stack, expected) in [(told, Some(json!([TOPIC]))), (silent, None)] {
        for alarm in stack.all(ALARM) {
            for name in ["AlarmActions", "OKActions"] {
                let actions = alarm.properties.get(name).map(Node::to_json);
                if actions != expected {
                    wrong.push(format!("{} has {name} {actions:?}, not {expected:?}", alarm.id));
                }
            }
        }
    }
    wrong
}

fn permissions_are_the_least(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let cases = SINKS.iter().flat_map(|(sink, _)| KEYS.map(|key| (*sink, key)));
    for (sink, key, idempotency) in cases.flat_map(|(sink, key)| ["off", "on"].map(|it| (sink, key, it))) {
        let stack = template.with(&[("Metrics", sink), ("KmsKeyArn", key), ("Idempotency", idempotency)]);
        let mut granted = BTreeMap::new();
        for statement in stack.deployment.functions[0].process.statements.iter().flatten() {
            for action in &statement.actions {
                granted.insert(action.as_str(), super::scope(statement));
            }
        }
        let arn = |service: &str, rest: &str| format!("arn:aws:{service}:eu-west-1:123456789012:{rest}");
        let mut needed: BTreeMap<_, _> = [
            ("sqs:ReceiveMessage", arn("sqs", "stack-orders")),
            ("sqs:DeleteMessage", arn("sqs", "stack-orders")),
            ("sqs:GetQueueAttributes", arn("sqs", "stack-orders")),
            ("sqs:ChangeMessageVisibility", arn("sqs", "stack-orders")),
            ("sqs:SendMessage", arn("sqs", "stack-orders-dead")),
            ("logs:CreateLogStream", arn("logs", "log-group:/aws/lambda/stack-orders:*")),
            ("logs:PutLogEvents", arn("logs", "log-group:/aws/lambda/stack-orders:*")),
        ]
        .into();
        needed.extend(
            (sink == "cloudwatch")
                .then(|| ("cloudwatch:PutMetricData", "* if cloudwatch:namespace=Redrive".to_owned())),
        );
        let is_idempotent = idempotency == "on";
        if !key.is_empty() {
            let key_grant = super::key_grant(key, is_idempotent);
            needed.extend(["kms:Decrypt", "kms:GenerateDataKey"].map(|action| (action, key_grant.clone())));
        }
        if is_idempotent {
            let table = arn("dynamodb", "table/stack-IdempotencyTable");
            needed.extend(super::RECORD_ACTIONS.map(|action| (action, table.clone())));
        }
        if granted != needed {
            wrong.push(format!(
                "with Metrics={sink} KmsKeyArn={key} Idempotency={idempotency} the role may {granted:?}, needed is {needed:?}"
            ));
        }
    }
    wrong
}

fn letters_outlive_the_stack(template: &OwnTemplate<'_>) -> Vec<String> {
    let kept = [
        ("OrdersQueue", "UpdateReplacePolicy"),
        ("DeadLetterQueue", "UpdateReplacePolicy"),
        ("DeadLetterQueue", "DeletionPolicy"),
        ("IdempotencyTable", "UpdateReplacePolicy"),
        ("IdempotencyTable", "DeletionPolicy"),
    ];
    let policy = |id: &str, name: &str| {
        let (_, queue) = template.declared("Resources").iter().find(|(other, _)| other == id)?;
        Some(text(queue, name).to_owned())
    };
    let lost = kept.into_iter().filter(|(id, name)| policy(id, name).as_deref() != Some("Retain"));
    lost.map(|(id, name)| format!("{id} has no {name}: Retain")).collect()
}

/// Requires a role that only the Scheduler assumes, for this account, and that only sends to the two queues.
fn schedules_may_only_send(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let role = |stack: &super::Stack| {
        stack
            .all("AWS::IAM::Role")
            .find(|role| role.id == "ScheduleRole")
            .map(|role| role.properties.to_json())
    };
    let without = template.with(&[]);
    if role(&without).is_some() || without.outputs.iter().any(|output| output == "ScheduleRoleArn") {
        wrong.push("there is a role without Schedules=on".to_owned());
    }
    for key in KEYS {
        let stack = template.with(&[("Schedules", "on"), ("KmsKeyArn", key)]);
        let Some(role) = role(&stack) else { return vec!["there is no role with Schedules=on".to_owned()] };
        let assumed = &role["AssumeRolePolicyDocument"]["Statement"][0];
        if assumed["Principal"]["Service"] != json!("scheduler.amazonaws.com")
            || assumed["Condition"]["StringEquals"]["aws:SourceAccount"] != json!(123_456_789_012_u64)
        {
            wrong.push(format!("{assumed} may assume the role of schedules"));
        }
        let queue = |name: &str| format!("arn:aws:sqs:eu-west-1:123456789012:{name}");
        let mut expected = vec![json!({
            "Sid": "SendMessages",
            "Effect": "Allow",
            "Action": ["sqs:SendMessage"],
            "Resource": [queue("stack-orders"), queue("stack-orders-dead")],
        })];
        expected.extend((!key.is_empty()).then(|| {
            json!({
                "Sid": "UseTheKey",
                "Effect": "Allow",
                "Action": ["kms:GenerateDataKey", "kms:Decrypt"],
                "Resource": key,
                "Condition": { "StringEquals": { "kms:ViaService": "sqs.eu-west-1.amazonaws.com" } },
            })
        }));
        let granted = &role["Policies"][0]["PolicyDocument"]["Statement"];
        if *granted != json!(expected) {
            wrong.push(format!("with KmsKeyArn={key} schedules may {granted}"));
        }
        if !stack.outputs.iter().any(|output| output == "ScheduleRoleArn") {
            wrong.push("there is no output ScheduleRoleArn".to_owned());
        }
    }
    wrong
}

/// Requires the layout of Powertools' records, and the TTL by which DynamoDB deletes old ones.
fn records_last_and_expire(template: &OwnTemplate<'_>) -> Vec<String> {
    let stack = template.with(&[WITH_IDEMPOTENCY]);
    let [table] = &stack.deployment.tables[..] else { return vec!["there is no single table".to_owned()] };
    let mut wrong = Vec::new();
    if !template.with(&[]).deployment.tables.is_empty() {
        wrong.push("there is a table without Idempotency=on".to_owned());
    }
    if (&table.keys, &table.ttl_attribute)
        != (&Seen::There(vec!["id".to_owned()]), &Seen::There("expiration".to_owned()))
    {
        wrong.push(format!("the key is {:?} and the TTL on {:?}", table.keys, table.ttl_attribute));
    }
    let resource = stack.all("AWS::DynamoDB::Table").next().expect("it is there");
    let properties = resource.properties.to_json();
    if properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] != json!("true") {
        wrong.push("the table cannot be restored to a point in time".to_owned());
    }
    if properties["BillingMode"] != json!("PAY_PER_REQUEST") {
        wrong.push("the table throttles, since it is not billed per request".to_owned());
    }
    if !stack.outputs.iter().any(|output| output == "IdempotencyTableName") {
        wrong.push("there is no output IdempotencyTableName".to_owned());
    }
    let functions = stack.deployment.functions.iter().map(|function| &function.process);
    let processes = functions.chain(stack.deployment.workers.iter().map(|worker| &worker.process));
    let told: Vec<_> = processes.map(|process| process.variable(IDEMPOTENCY_TABLE)).collect();
    if told != [Seen::There(table.name.as_str())] {
        wrong.push(format!("{IDEMPOTENCY_TABLE} is {told:?}, not {}", table.name));
    }
    wrong
}

fn parameters_say_what_they_take(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, parameter) in template.declared("Parameters") {
        let has = |key: &str| parameter.get(key).is_some();
        if text(parameter, "Description").is_empty() {
            wrong.push(format!("parameter {name} has no description"));
        }
        let is_bounded = has("MinValue") && has("MaxValue");
        // CloudFormation looks such a value up in the account.
        let is_looked_up = text(parameter, "Type").starts_with("List<AWS::EC2::");
        if !(has("AllowedValues") || has("AllowedPattern") || is_bounded || is_looked_up) {
            wrong.push(format!("parameter {name} has no range"));
        }
    }
    wrong
}

fn outputs_and_widgets_are_shown(template: &OwnTemplate<'_>) -> Vec<String> {
    const OUTPUTS: [&str; 5] =
        ["QueueUrl", "QueueArn", "DeadLetterQueueUrl", "DeadLetterQueueArn", "LogGroupName"];
    let stack = template.with(&[]);
    let absent = OUTPUTS.into_iter().filter(|name| !stack.outputs.iter().any(|output| output == name));
    let mut wrong: Vec<_> = absent.map(|name| format!("there is no output {name}")).collect();
    let dashboard = stack.all("AWS::CloudWatch::Dashboard").next().expect("it is there");
    let body: Value = serde_json::from_str(text(&dashboard.properties, "DashboardBody")).expect("it is JSON");
    let mut places = BTreeSet::new();
    for widget in body["widgets"].as_array().into_iter().flatten() {
        let [x, y, width] = ["x", "y", "width"].map(|key| widget[key].as_u64().expect("a number"));
        let title = &widget["properties"]["title"];
        if x + width > 24 {
            wrong.push(format!("{title} is wider than the dashboard"));
        }
        if !places.insert((x, y)) {
            wrong.push(format!("{title} covers another widget"));
        }
    }
    wrong
}

/// Checks what checkov requires beyond the other rules.
fn audit_requirements_are_met(template: &OwnTemplate<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let stack = template.with(&[]);
    for group in stack.all("AWS::Logs::LogGroup") {
        if text(&group.properties, "RetentionInDays").is_empty() {
            wrong.push(format!("{} keeps what is logged forever", group.id));
        }
    }
    for role in stack.all("AWS::IAM::Role") {
        let properties = role.properties.to_json();
        let assumed = &properties["AssumeRolePolicyDocument"]["Statement"];
        let services = assumed.as_array().into_iter().flatten().map(|it| &it["Principal"]["Service"]);
        let one_of = ["lambda.amazonaws.com", "ecs-tasks.amazonaws.com"];
        if services.map(|it| it.as_str().unwrap_or_default()).any(|it| !one_of.contains(&it)) {
            wrong.push(format!("{} can be assumed by others than Lambda and ECS", role.id));
        }
        let policies = properties["Policies"].as_array().into_iter().flatten();
        let statements = policies.flat_map(|it| it["PolicyDocument"]["Statement"].as_array().unwrap());
        if statements.map(|it| it["Action"].to_string()).any(|actions| actions.contains('*')) {
            wrong.push(format!("{} allows every action of a kind", role.id));
        }
    }
    for (id, resource) in template.declared("Resources") {
        let metadata = resource.get("Metadata").and_then(|it| it.get("checkov")?.get("skip")?.as_list());
        let excepted = metadata.unwrap_or_default();
        if excepted.iter().any(|it| text(it, "comment").is_empty()) {
            wrong.push(format!("{id} is excepted without a reason"));
        }
    }
    wrong
}
