use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::deployment::{Seen, Statement};

/// A queue whose dead-letter queue a module makes, one for each name, and a function whose policy a data source writes.
fn plan() -> Json {
    let resource = |address: &str, values: Json| {
        let name = address.rsplit_once("aws_").map_or(address, |(_, name)| name);
        let kind = format!("aws_{}", name.split('.').next().unwrap_or_default());
        let mode = if address.contains("data.") { "data" } else { "managed" };
        json!({"address": address, "mode": mode, "type": kind, "values": values})
    };
    let dead = |name: &str| {
        let address = format!("module.dead[\"{name}\"]");
        let queue = format!("{address}.aws_sqs_queue.this[0]");
        json!({"address": address, "resources": [resource(&queue, json!({"name": format!("{name}-dead")}))]})
    };
    let change =
        |address: &str, unknown: Json| json!({"address": address, "change": {"after_unknown": unknown}});
    let refers = |references: &[&str]| json!({"references": references});
    json!({
        "format_version": "1.2",
        "terraform_version": "1.9.8",
        "variables": {"receives": {"value": 4}},
        "planned_values": {"root_module": {
            "resources": [
                resource("aws_sqs_queue.all[\"a\"]", json!({"name": "a", "visibility_timeout_seconds": 90})),
                resource("aws_sqs_queue.all[\"b\"]", json!({"name": "b", "visibility_timeout_seconds": 90})),
                resource("aws_lambda_function.work", json!({"function_name": "work", "timeout": 15})),
                resource("aws_lambda_event_source_mapping.work[\"b\"]", json!({"enabled": true})),
                resource("aws_iam_role.work", json!({"name": "work"})),
                resource("aws_iam_role_policy.work", json!({"name": "work", "role": "work"})),
                resource("data.aws_iam_policy_document.work", json!({
                    "statement": [{"actions": ["sqs:ReceiveMessage"], "resources": [null]}],
                })),
            ],
            "child_modules": [dead("a"), dead("b")],
        }},
        "resource_changes": [
            change("aws_sqs_queue.all[\"a\"]", json!({"redrive_policy": true, "policy": true})),
            change("aws_sqs_queue.all[\"b\"]", json!({"redrive_policy": true, "policy": true})),
            change("module.dead[\"a\"].aws_sqs_queue.this[0]", json!({"redrive_policy": true, "arn": true})),
            change("module.dead[\"b\"].aws_sqs_queue.this[0]", json!({"redrive_policy": true, "arn": true})),
            change("aws_lambda_function.work", json!({"role": true, "environment": [{"variables": {"URL": true}}]})),
            change("aws_lambda_event_source_mapping.work[\"b\"]", json!({"event_source_arn": true, "function_name": true})),
            change("aws_iam_role_policy.work", json!({"policy": true})),
            change("data.aws_iam_policy_document.work", json!({"json": true, "statement": [{"resources": [true]}]})),
        ],
        "configuration": {"root_module": {
            "resources": [
                {"address": "aws_sqs_queue.all", "expressions": {
                    "redrive_policy": refers(&["module.dead", "each.key", "var.receives"]),
                }},
                {"address": "aws_lambda_function.work", "expressions": {
                    "role": refers(&["aws_iam_role.work.arn", "aws_iam_role.work"]),
                    "environment": [{"variables": refers(&["local.url"])}],
                }},
                {"address": "aws_lambda_event_source_mapping.work", "expressions": {
                    "event_source_arn": refers(&["aws_sqs_queue.all", "each.key"]),
                    "function_name": refers(&["aws_lambda_function.work.arn", "aws_lambda_function.work"]),
                }},
                {"address": "aws_iam_role_policy.work", "expressions": {
                    "policy": refers(&["data.aws_iam_policy_document.work.json", "data.aws_iam_policy_document.work"]),
                }},
                {"address": "data.aws_iam_policy_document.work", "expressions": {"statement": [{
                    "actions": {"constant_value": ["sqs:ReceiveMessage"]},
                    "resources": refers(&["aws_sqs_queue.all[\"b\"].arn", "aws_sqs_queue.all[\"b\"]", "aws_sqs_queue.all"]),
                }]}},
            ],
            "module_calls": {"dead": {
                "expressions": {"name": refers(&["each.key"])},
                "module": {
                    "resources": [{"address": "aws_sqs_queue.this", "expressions": {"name": refers(&["var.name"])}}],
                    "outputs": {"arn": {"expression": refers(&["aws_sqs_queue.this[0].arn", "aws_sqs_queue.this[0]", "aws_sqs_queue.this"])}},
                    "variables": {"name": {}},
                },
            }},
        }},
    })
}

fn read_text(text: &str, parameters: &[(String, String)]) -> Result<Deployment, String> {
    read(&Source::new(Path::new("plan.json"), text, parameters)).map_err(|error| error.message)
}

#[test]
fn references_lead_through_modules_to_what_does_not_exist_yet() {
    let deployment = read_text(&plan().to_string(), &[]).unwrap();
    let arn = |name: &str| format!("arn:aws:sqs:REGION:ACCOUNT:{name}");
    let targets: Vec<_> =
        deployment.queues.iter().map(|it| (it.id.as_str(), it.dead_letter_target())).collect();
    assert_eq!(
        targets,
        [
            ("aws_sqs_queue.all[\"a\"]", Some(arn("a-dead").as_str())),
            ("aws_sqs_queue.all[\"b\"]", Some(arn("b-dead").as_str())),
            ("module.dead[\"a\"].aws_sqs_queue.this[0]", None),
            ("module.dead[\"b\"].aws_sqs_queue.this[0]", None),
        ]
    );
    assert_eq!(deployment.queues[0].max_receive_count(), Some(4));
    assert!(deployment.queues[2].redrive_policy.is_absent() && deployment.queues[2].line.is_none());
    let [mapping] = deployment.mappings.as_slice() else { panic!("one mapping") };
    assert_eq!((mapping.queue_arn.clone(), mapping.function.as_deref()), (Some(arn("b")), Some("work")));
    let [function] = deployment.functions.as_slice() else { panic!("one function") };
    assert_eq!(function.process.variable("URL"), Seen::Unknown);
    let allowed = Statement {
        allows: true,
        actions: vec!["sqs:ReceiveMessage".to_owned()],
        resources: vec![arn("b")],
        ..Statement::default()
    };
    assert_eq!(function.process.statements, Some(vec![allowed]));
    assert_eq!(deployment.lines_not_read(), Vec::<&str>::new());
}

#[test]
fn settings_in_other_resources_are_read() {
    let mut plan = plan();
    let resources = plan.pointer_mut("/planned_values/root_module/resources").unwrap();
    resources[0]["values"]["policy"] = json!(
        r#"{"Statement": {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sqs:SendMessage"}}"#
    );
    resources[5] = json!({"address": "aws_lambda_function_event_invoke_config.work", "mode": "managed",
        "type": "aws_lambda_function_event_invoke_config",
        "values": {"function_name": "work", "destination_config": [{"on_failure": [{"destination": "arn:aws:sqs:r:1:x"}]}]}});
    plan["prior_state"] = json!({"values": {"root_module": {"resources": [resources[6].clone()]}}});
    let changes = plan["resource_changes"].as_array_mut().unwrap();
    changes[0]["change"]["after_unknown"] = json!({});
    let deployment = read_text(&plan.to_string(), &[]).unwrap();
    assert!(deployment.queues[0].policy_allows_others && !deployment.queues[1].policy_allows_others);
    assert_eq!(deployment.functions[0].asynchronous_dead_letters, ["arn:aws:sqs:r:1:x"]);
    assert_eq!(deployment.functions[0].process.statements, Some(Vec::new()));
}

#[test]
fn a_pipe_receives_from_its_source_alone() {
    for (attribute, receives) in [("source", true), ("target", false)] {
        let resource = |kind: &str, more: (&str, serde_json::Value)| {
            let (name, value) = more;
            json!({"address": format!("{kind}.x"), "mode": "managed", "type": kind, "name": "x", name: value})
        };
        let refers = json!({attribute: {"references": ["aws_sqs_queue.x.arn", "aws_sqs_queue.x"]}});
        let plan = json!({
            "format_version": "1.2",
            "planned_values": {"root_module": {"resources": [
                resource("aws_sqs_queue", ("values", json!({"name": "jobs"}))),
                resource("aws_pipes_pipe", ("values", json!({"name": "p"}))),
            ]}},
            "configuration": {"root_module": {"resources": [
                resource("aws_sqs_queue", ("expressions", json!({}))),
                resource("aws_pipes_pipe", ("expressions", refers)),
            ]}},
        });
        let deployment = read_text(&plan.to_string(), &[]).unwrap();
        let told = deployment.lines_not_read();
        assert_eq!(told.iter().any(|line| line.contains("receives from")), receives, "{attribute}: {told:?}");
    }
}

#[test]
fn a_mapping_without_an_event_source_is_none_of_a_queue() {
    let mut plan = plan();
    let resources = plan.pointer_mut("/planned_values/root_module/resources").unwrap();
    resources[5] = json!({"address": "aws_lambda_event_source_mapping.brokers", "mode": "managed",
        "type": "aws_lambda_event_source_mapping",
        "values": {"function_name": "work", "topics": ["orders"], "event_source_arn": null}});
    let mappings = read_text(&plan.to_string(), &[]).unwrap().mappings;
    assert!(mappings.iter().all(|mapping| mapping.lacks.is_none()), "{mappings:?}");
}

#[test]
fn an_item_of_for_each_is_followed_if_there_is_one_only() {
    let mut plan = plan();
    let mapping = plan.pointer_mut("/configuration/root_module/resources/2").unwrap();
    mapping["expressions"]["event_source_arn"] = json!({"references": ["each.value.arn", "each.value"]});
    mapping["for_each_expression"] = json!({"references": ["local.all", "aws_sqs_queue.all[\"a\"].arn"]});
    let queue =
        |plan: &Json| read_text(&plan.to_string(), &[]).unwrap().mappings.pop().map(|it| it.queue_arn);
    assert_eq!(queue(&plan), Some(Some("arn:aws:sqs:REGION:ACCOUNT:a".to_owned())));
    let mapping = plan.pointer_mut("/configuration/root_module/resources/2").unwrap();
    mapping["for_each_expression"] = json!({"references": ["aws_sqs_queue.all"]});
    assert_eq!(queue(&plan), None);
}

#[test]
fn references_that_lead_nowhere_are_reported_as_not_read() {
    for (at, references, told) in [
        (
            "/configuration/root_module/resources/2/expressions/event_source_arn",
            json!(["local.arn"]),
            "event_source_arn of",
        ),
        (
            "/configuration/root_module/resources/2/expressions/event_source_arn",
            json!(["aws_sqs_queue.all"]),
            "event_source_arn of",
        ),
        (
            "/configuration/root_module/resources/1/expressions/role",
            json!(["aws_iam_role.other.arn"]),
            "role of",
        ),
        (
            "/configuration/root_module/resources/0/expressions/redrive_policy",
            json!(["local.policy"]),
            "deadLetterTargetArn of",
        ),
    ] {
        let mut plan = plan();
        *plan.pointer_mut(at).unwrap() = json!({"references": references});
        let deployment = read_text(&plan.to_string(), &[]).unwrap();
        assert!(
            deployment.lines_not_read().iter().any(|it| it.starts_with(told)),
            "{at}: {:?}",
            deployment.lines_not_read()
        );
    }
}

#[test]
fn references_in_a_circle_have_an_end() {
    let mut plan = plan();
    let call = plan.pointer_mut("/configuration/root_module/module_calls/dead").unwrap();
    call["expressions"]["name"] = json!({"references": ["module.dead[\"a\"].arn", "module.dead[\"b\"].arn"]});
    call["module"]["outputs"]["arn"]["expression"] =
        json!({"references": ["var.name", "each.key", "var.name"]});
    assert!(read_text(&plan.to_string(), &[]).is_ok());
}

#[test]
fn queues_of_one_name_are_in_several_regions() {
    let mut plan = plan();
    *plan.pointer_mut("/planned_values/root_module/resources/1/values/name").unwrap() = json!("a");
    let deployment = read_text(&plan.to_string(), &[]).unwrap();
    assert_eq!(deployment.queues.len(), 3);
    let told =
        "aws_sqs_queue.all[\"b\"]: aws_sqs_queue.all[\"a\"] has its name, in another region or account";
    assert_eq!(deployment.lines_not_read()[0], told);
}

#[test]
fn files_that_are_not_plans_are_refused() {
    let deep =
        format!(r#"{{"terraform_version": "1", "values": {}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let queue = r#"{"address": "aws_sqs_queue.q", "mode": "managed", "type": "aws_sqs_queue"}"#;
    let many = vec![queue; MOST_RESOURCES + 1].join(",");
    let many =
        format!(r#"{{"terraform_version": "1", "values": {{"root_module": {{"resources": [{many}]}}}}}}"#);
    for (text, why) in [
        (
            r#"{"version": 4, "terraform_version": "1.9.8", "serial": 1, "lineage": "x"}"#,
            "neither planned_values nor values: pass the output",
        ),
        (&deep, "Terraform's JSON: "),
        (&many, "more than 20000 resources"),
    ] {
        assert!(is_terraform(text));
        let error = read_text(text, &[]).unwrap_err();
        assert!(error.starts_with(why), "{error}");
    }
    let given = [("Stage".to_owned(), "prod".to_owned())];
    assert!(read_text(&plan().to_string(), &given).unwrap_err().starts_with("no parameter Stage: "));
    assert!(!is_terraform("{\"Resources\": {}}") && !is_terraform("terraform_version: 1"));
}

/// Puts something else in the place of the part that has a number, counted from the top.
fn replace(json: &mut Json, number: &mut usize, other: &Json) {
    if *number == 0 {
        *json = other.clone();
    }
    *number = number.wrapping_sub(1);
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, number, other)),
        Json::Object(entries) => entries.values_mut().for_each(|value| replace(value, number, other)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn other() -> impl Strategy<Value = Json> {
    const TEXTS: [&str; 6] = [
        "",
        "aws_sqs_queue",
        "aws_sqs_queue.all",
        "module.dead[\"a\"].arn",
        "var.name",
        "{\"Statement\": [1]}",
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        prop::sample::select(&TEXTS).prop_map(Json::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let key = prop::sample::select(&["references", "constant_value", "Ref", "policy", "name"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::vec((key, inner), 0..3)
                .prop_map(|entries| entries.into_iter().map(|(key, it)| (key.to_owned(), it)).collect()),
        ]
    })
}

#[test]
fn a_plan_that_leaves_out_resources_says_so() {
    let told = |key: &str, value: bool| {
        let mut plan = plan();
        plan[key] = json!(value);
        let not_seen = read_text(&plan.to_string(), &[]).unwrap().not_seen;
        not_seen
            .into_iter()
            .map(|it| it.what)
            .find(|it| it.starts_with("the resources that this plan leaves out: "))
    };
    assert!(told("errored", true).unwrap().contains("`terraform plan` ended with an error"));
    assert!(told("complete", false).unwrap().contains("-target"));
    assert_eq!((told("errored", false), told("complete", true)), (None, None));
}

proptest! {
    #[test]
    fn no_plan_makes_the_reader_panic(changes in prop::collection::vec((0_usize..260, other()), 0..5)) {
        let mut plan = plan();
        for (mut number, other) in changes {
            replace(&mut plan, &mut number, &other);
        }
        let text = plan.to_string();
        let told = |read: Result<Deployment, String>| read.map(|it| format!("{it:?}"));
        prop_assert_eq!(told(read_text(&text, &[])), told(read_text(&text, &[])));
    }
}
