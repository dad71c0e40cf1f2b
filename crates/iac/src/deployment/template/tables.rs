//! Tables of DynamoDB, as far as records of handled messages depend on them.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html>

use std::collections::BTreeSet;

use super::super::table::table_named;
use super::super::{Process, Seen, Table};
use super::look::{Look, Note, Notes};
use crate::{Node, Resolver, Resource};

pub(super) const KINDS: [&str; 3] =
    ["AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Serverless::SimpleTable"];

pub(super) fn read(resolver: &Resolver<'_>, notes: &Notes) -> Vec<Table> {
    let resources = notes.resources(resolver, &KINDS);
    resources.iter().map(|resource| table(resolver, resource, notes)).collect()
}

/// Returns notes on the tables that these consumers, given by their ids, name.
pub(super) fn notes<'a>(
    tables: &[Table],
    consumers: impl Iterator<Item = (&'a String, &'a Process)>,
    about: Notes,
) -> Vec<Note> {
    let mut named = BTreeSet::new();
    for (consumer, process) in consumers {
        for name in process.idempotency_tables() {
            match table_named(tables, name) {
                Some(table) => drop(named.insert(&table.id)),
                None => {
                    let what = format!("the idempotency table of {consumer}");
                    about.add(consumer, what, format!("{name} is not in this template"));
                    named.insert(consumer);
                }
            }
        }
    }
    about.into_notes().into_iter().filter(|note| named.contains(&note.id)).collect()
}

fn table(resolver: &Resolver<'_>, resource: &Resource, notes: &Notes) -> Table {
    let look = Look::at(resource, notes);
    let ttl = look.part("TimeToLiveSpecification").and_then(|ttl| match ttl.flag("Enabled") {
        Seen::There(true) => ttl.text("AttributeName"),
        Seen::There(false) | Seen::Absent => Seen::Absent,
        Seen::Unknown => Seen::Unknown,
    });
    Table {
        name: resource.name.clone(),
        arn: resolver.table_arn(&resource.name),
        keys: look.part("KeySchema").and_then(keys),
        ttl_attribute: ttl,
        line: Some(resource.line),
        id: resource.id.clone(),
    }
}

fn keys(schema: Look<'_>) -> Seen<Vec<String>> {
    let named = |kind: &'static str| {
        schema.items().iter().filter(move |key| key.text_at("KeyType") == Some(kind)).map(attribute)
    };
    if schema.items().iter().any(|key| key.text_at("KeyType").is_none()) {
        return Seen::Unknown;
    }
    let keys: Option<Vec<String>> = named("HASH").chain(named("RANGE")).collect();
    keys.map_or(Seen::Unknown, Seen::There)
}

fn attribute(key: &Node) -> Option<String> {
    key.text_at("AttributeName").map(str::to_owned)
}
