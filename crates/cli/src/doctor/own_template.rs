//! Rules that redrive's own templates must keep, checked with the doctor's reader. Each rule has faults that break it.
//! The doctor finds nothing in them: see `nothing_is_found`, and for a worker the case of `examples/deploy/worker.yaml` in `cases.txt`.

mod descriptions;
mod encryption;
mod names;
mod rules;
mod worker;

use std::collections::BTreeSet;
use std::path::Path;

use redrive_iac::deployment::template::{Source, of};
use redrive_iac::deployment::{Alarm, Deployment, Statement};
use redrive_iac::{Gaps, Node, Resolver, Resource, Surroundings, parse};

use super::run_checks;

const TEMPLATE: &str = include_str!("../../../../template.yaml");
const RUNBOOK: &str = include_str!("../../../../docs/runbook.md");

const ALARM: &str = "AWS::CloudWatch::Alarm";
const WITH_EMAIL: (&str, &str) = ("NotificationEmail", "me@example.com");
/// ARN of the topic that notifies the address.
const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:stack-AlarmTopic";
const WITH_IDEMPOTENCY: (&str, &str) = ("Idempotency", "on");
const RECORD_ACTIONS: [&str; 3] = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:GetItem"];
const KEY: &str = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

const FAULTS: &str = include_str!("../../tests/doctor/own_template.yaml");

/// Returns the resources and the conditions of a statement.
fn scope(statement: &Statement) -> String {
    let conditions =
        statement.conditions.iter().map(|(key, values)| format!(" if {key}={}", values.join(" ")));
    statement.resources.join(" ") + &conditions.collect::<String>()
}

/// Returns the expected grant of the key, for messages of queues and for records.
fn key_grant(key: &str, is_idempotent: bool) -> String {
    let records = if is_idempotent { " dynamodb.eu-west-1.amazonaws.com" } else { "" };
    format!("{key} if kms:ViaService=sqs.eu-west-1.amazonaws.com{records}")
}

/// A check that returns what is wrong with a template and its runbook.
type Rule = fn(&OwnTemplate<'_>) -> Vec<String>;

/// One of redrive's own templates, or a broken copy, with its runbook.
struct OwnTemplate<'a> {
    document: Node,
    runbook: &'a str,
    /// Values of the parameters that have no default.
    given: &'a [(&'a str, &'a str)],
}

/// A stack that the template would create.
struct Stack {
    deployment: Deployment,
    /// Resources with their types.
    resources: Vec<(String, Resource)>,
    outputs: Vec<String>,
}

impl<'a> OwnTemplate<'a> {
    fn of(template: &str, runbook: &'a str) -> Self {
        Self { document: parse(template).unwrap(), runbook, given: &[] }
    }

    fn with(&self, parameters: &[(&str, &str)]) -> Stack {
        self.stack("stack", "eu-west-1", parameters)
    }

    fn stack(&self, name: &str, region: &str, parameters: &[(&str, &str)]) -> Stack {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let parameters: Vec<_> = self.given.iter().chain(parameters).map(owned).collect();
        let surroundings = Surroundings {
            region: Some(region.to_owned()),
            account: Some("123456789012".to_owned()),
            stack: Some(name.to_owned()),
            endpoint: format!("https://sqs.{region}.amazonaws.com"),
            names: [].into(),
            values: [].into(),
        };
        let resolver = Resolver::new(&self.document, &parameters, &surroundings, Gaps::Settable).unwrap();
        let deployment = of(&resolver, &Source::new(Path::new("template.yaml"), "", &parameters)).unwrap();
        let kinds: BTreeSet<_> = resolver.kinds().into_iter().map(|(_, kind)| kind).collect();
        let of_kind = |kind: &'_ str| {
            let (resources, doubtful) = resolver.resources(&[kind]);
            assert!(doubtful.is_empty(), "{doubtful:?}");
            resources.into_iter().map(|resource| (kind.to_owned(), resource)).collect::<Vec<_>>()
        };
        let resources = kinds.into_iter().flat_map(of_kind).collect();
        let (outputs, unknown) = resolver.outputs();
        assert!(unknown.is_empty(), "{unknown:?}");
        Stack { deployment, resources, outputs: outputs.into_iter().map(|output| output.key).collect() }
    }

    /// Returns what a section declares, as it is written.
    fn declared(&self, section: &str) -> &[(String, Node)] {
        self.document.entries_at(section)
    }
}

impl Stack {
    fn all(&self, kind: &str) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(move |(other, _)| other == kind).map(|(_, resource)| resource)
    }

    fn alarm(&self, id: &str) -> Option<&Alarm> {
        self.deployment.alarms.iter().flatten().find(|alarm| alarm.id == id)
    }
}

fn text<'n>(node: &'n Node, key: &str) -> &'n str {
    node.text_at(key).unwrap_or_default()
}

#[test]
fn own_template_keeps_every_rule() {
    let template = OwnTemplate::of(TEMPLATE, RUNBOOK);
    let wrong: Vec<_> = rules::all().flat_map(|(_, rule)| rule(&template)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_can_be_broken_and_finds_its_faults() {
    let (faults, mut wrong) = (parse(FAULTS).unwrap(), Vec::new());
    assert_eq!(faults.entries().len(), rules::all().count());
    for (name, rule) in rules::all() {
        let faults = faults.items_at(name);
        assert!(!faults.is_empty(), "{name} is never broken");
        for fault in faults {
            let texts: Vec<_> = fault.as_list().into_iter().flatten().filter_map(Node::as_text).collect();
            let [old, new, said] = texts[..] else { panic!("{name}: {texts:?}") };
            let in_template = TEMPLATE.contains(old);
            assert!(
                in_template || RUNBOOK.contains(old),
                "neither template.yaml nor its runbook says {old:?}"
            );
            let changed =
                |text: &str, changes: bool| if changes { text.replace(old, new) } else { text.to_owned() };
            let (template, runbook) = (changed(TEMPLATE, in_template), changed(RUNBOOK, !in_template));
            let found = rule(&OwnTemplate::of(&template, &runbook));
            if !found.iter().any(|found| found.contains(said)) {
                wrong.push(format!("{old:?} as {new:?} is {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
