//! What runs handlers, in a function or in a container: what it is told, and what it may do.

use std::collections::BTreeMap;

use super::Seen;

#[derive(Debug, Clone, Default)]
pub struct Process {
    /// None if it could not be read at all, and None for the value of a variable that is not known.
    pub environment: Option<BTreeMap<String, Option<String>>>,
    /// Whether it has more variables, from a place that was not looked at.
    pub has_more_variables: bool,
    /// What its role allows; none if that was not read.
    pub statements: Option<Vec<Statement>>,
}

/// A statement of an IAM policy. What could not be worked out stands as `*` where it allows.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_statement.html>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statement {
    /// `Allow`, else `Deny`.
    pub allows: bool,
    /// With `*` and `?`, such as `sqs:Send*`.
    pub actions: Vec<String>,
    pub resources: Vec<String>,
    /// Condition keys with their values, such as `cloudwatch:namespace`.
    pub conditions: BTreeMap<String, Vec<String>>,
}

impl Process {
    /// A variable of its environment; an empty one counts as absent, as it does for redrive.
    pub fn variable(&self, name: &str) -> Seen<&str> {
        match self.environment.as_ref().map(|variables| variables.get(name)) {
            None | Some(Some(None)) => Seen::Unknown,
            Some(None) if self.has_more_variables => Seen::Unknown,
            Some(None) => Seen::Absent,
            Some(Some(Some(value))) if value.is_empty() => Seen::Absent,
            Some(Some(Some(value))) => Seen::There(value),
        }
    }

    /// Whether it has a variable of redrive's.
    pub fn is_set_up(&self) -> bool {
        self.environment.iter().flatten().any(|(name, _)| name.starts_with("REDRIVE_"))
    }
}
