//! Tables in which consumers record the messages that they have handled.

use super::{Deployment, Process, Seen};

/// A table of DynamoDB.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub name: String,
    pub arn: String,
    /// The attributes of its key, the partition key first.
    pub keys: Seen<Vec<String>>,
    /// The attribute by which items expire, if they do.
    pub ttl_attribute: Seen<String>,
    pub line: Option<usize>,
    /// Logical id in the template, else the name.
    pub id: String,
}

/// The variable that names the table of `redrive-dynamodb`.
pub const IDEMPOTENCY_TABLE: &str = "REDRIVE_IDEMPOTENCY_TABLE";

impl Process {
    /// Returns the tables of idempotency records, by the variable of redrive and by that of Powertools' examples.
    pub fn idempotency_tables(&self) -> impl Iterator<Item = &str> {
        let variables = self.environment.iter().flatten();
        let named = variables.filter(|(name, _)| name.ends_with("IDEMPOTENCY_TABLE"));
        named.filter_map(|(_, value)| value.as_deref()).filter(|value| !value.is_empty())
    }
}

impl Deployment {
    /// Returns the table with a name or an ARN.
    pub fn table(&self, name: &str) -> Option<&Table> {
        table_named(&self.tables, name)
    }
}

pub(super) fn table_named<'t>(tables: &'t [Table], name: &str) -> Option<&'t Table> {
    let name = name.rsplit('/').next().unwrap_or(name);
    tables.iter().find(|table| table.name == name)
}
