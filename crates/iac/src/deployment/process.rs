//! A process that runs handlers, in a function or in a container: its environment and its permissions.

use std::collections::BTreeMap;

use super::Seen;
use super::arn::Arn;
use crate::{ACCOUNT, REGION};

#[derive(Debug, Clone, Default)]
pub struct Process {
    /// None if it could not be read at all. The value of a variable is None if it is unknown.
    pub environment: Option<BTreeMap<String, Option<String>>>,
    /// True if it has more variables, from a place that was not read.
    pub has_more_variables: bool,
    /// Statements of its role. None if the role was not read.
    pub statements: Option<Vec<Statement>>,
}

/// A statement of an IAM policy. In one that allows, `*` stands for what is unknown.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_statement.html>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statement {
    /// True for `Allow`, false for `Deny`.
    pub allows: bool,
    /// Patterns with `*` and `?`, such as `sqs:Send*`.
    pub actions: Vec<String>,
    pub resources: Vec<String>,
    /// Condition keys with their values, such as `cloudwatch:namespace`.
    pub conditions: BTreeMap<String, Vec<String>>,
}

impl Process {
    /// Returns a variable of its environment. An empty one counts as absent, as it does for redrive.
    pub fn variable(&self, name: &str) -> Seen<&str> {
        match self.environment.as_ref().map(|variables| variables.get(name)) {
            None | Some(Some(None)) => Seen::Unknown,
            Some(None) if self.has_more_variables => Seen::Unknown,
            Some(None) => Seen::Absent,
            Some(Some(Some(value))) if value.is_empty() => Seen::Absent,
            Some(Some(Some(value))) => Seen::There(value),
        }
    }

    /// Returns true if redrive's Lambda layer wraps its runtime.
    pub fn is_behind_layer(&self) -> bool {
        self.variable("AWS_LAMBDA_EXEC_WRAPPER").there().is_some_and(|wrapper| *wrapper == "/opt/redrive")
    }

    /// Returns true if it has a variable of redrive's.
    pub fn is_set_up(&self) -> bool {
        self.environment.iter().flatten().any(|(name, _)| name.starts_with("REDRIVE_"))
    }
}

/// The condition key that narrows `cloudwatch:PutMetricData`, which has no resources.
const NAMESPACE: &str = "cloudwatch:namespace";

impl Process {
    /// Returns true if its role allows an action, or `None` if the role was not read.
    /// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html>
    ///
    /// It assumes that conditions of allowing statements hold, and that those of denying ones do not.
    pub fn may(&self, action: &str, resource: &str) -> Option<bool> {
        let concerned = |statement: &&Statement| statement.concerns(action, resource);
        self.decide(concerned)
    }

    /// Returns true if it may put metrics into a namespace.
    pub fn may_put_metrics(&self, namespace: &str) -> Option<bool> {
        self.decide(|statement| {
            let narrowed = statement.conditions.iter().find(|(key, _)| key.eq_ignore_ascii_case(NAMESPACE));
            let fits = narrowed.is_none_or(|(_, values)| {
                values.is_empty() || values.iter().any(|value| is_like(namespace, value))
            });
            fits && statement.concerns("cloudwatch:PutMetricData", "*")
        })
    }

    /// Returns true if it may perform an action on some resource, if the actual one is unknown.
    pub fn may_somewhere(&self, action: &str) -> Option<bool> {
        let denied = |it: &Statement| !it.allows && it.concerns(action, "*") && it.conditions.is_empty();
        let statements = self.statements.as_ref()?;
        let allowed = statements.iter().any(|it| it.allows && it.names_action(action));
        Some(allowed && !statements.iter().any(denied))
    }

    fn decide(&self, concerned: impl Fn(&&Statement) -> bool) -> Option<bool> {
        let statements: Vec<_> = self.statements.as_ref()?.iter().filter(concerned).collect();
        let denied = statements.iter().any(|it| !it.allows && it.conditions.is_empty());
        Some(!denied && statements.iter().any(|statement| statement.allows))
    }
}

impl Statement {
    fn names_action(&self, action: &str) -> bool {
        let action = action.to_ascii_lowercase();
        self.actions.iter().any(|pattern| is_like(&action, &pattern.to_ascii_lowercase()))
    }

    fn concerns(&self, action: &str, resource: &str) -> bool {
        self.names_action(action) && self.resources.iter().any(|pattern| names(pattern, resource))
    }
}

/// Returns true if a pattern matches a resource, as far as a template knows its region and account.
pub(super) fn names(pattern: &str, resource: &str) -> bool {
    if is_like(resource, pattern) {
        return true;
    }
    let (Some(pattern), Some(resource)) = (Arn::parse(pattern), Arn::parse(resource)) else { return false };
    let part = |pattern: &str, part: &str, unknown: &str| {
        part == unknown || pattern == unknown || is_like(part, pattern)
    };
    (resource.region == REGION || is_like(resource.partition, pattern.partition))
        && is_like(resource.service, pattern.service)
        && part(pattern.region, resource.region, REGION)
        && part(pattern.account, resource.account, ACCOUNT)
        && is_like(resource.rest, pattern.rest)
}

/// Matches a pattern, in which `*` stands for any text and `?` for any character.
pub(super) fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut in_pattern) = (0, 0);
    // Where to continue if the text after the last star does not match.
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == text[at] => {
                at += 1;
                in_pattern += 1;
            }
            Some(_) | None => {
                let Some((position, covered)) = star else { return false };
                star = Some((position, covered + 1));
                at = covered + 1;
                in_pattern = position + 1;
            }
        }
    }
    pattern[in_pattern..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";

    fn statement(allows: bool, action: &str, resource: &str) -> Statement {
        let (actions, resources) = (vec![action.to_owned()], vec![resource.to_owned()]);
        Statement { allows, actions, resources, ..Statement::default() }
    }

    fn may(statements: &[Statement]) -> bool {
        let process = Process { statements: Some(statements.to_vec()), ..Process::default() };
        process.may("sqs:SendMessage", QUEUE).unwrap()
    }

    #[test]
    fn patterns_have_stars_and_question_marks() {
        for (text, pattern, fits) in [
            ("abc", "abc", true),
            ("abc", "a*", true),
            ("abc", "*c", true),
            ("abcbc", "a*bc", true),
            ("abc", "a?c", true),
            ("abc", "*", true),
            ("", "*", true),
            ("abc", "a?", false),
            ("abc", "*b", false),
            ("abc", "", false),
            ("abc", "abcd", false),
        ] {
            assert_eq!(is_like(text, pattern), fits, "{text} {pattern}");
        }
    }

    #[test]
    fn an_action_needs_a_statement_that_allows_it_and_none_that_denies_it() {
        assert!(may(&[statement(true, "SQS:send*", "*")]));
        assert!(may(&[statement(true, "sqs:SendMessage", QUEUE)]));
        assert!(!may(&[statement(true, "sqs:ReceiveMessage", QUEUE)]));
        assert!(!may(&[statement(true, "sqs:*", "arn:aws:sqs:eu-west-1:123456789012:other")]));
        assert!(!may(&[statement(true, "sqs:*", "*"), statement(false, "sqs:SendMessage", "*")]));
        assert!(!may(&[]));
        assert_eq!(Process::default().may("sqs:SendMessage", QUEUE), None);
    }

    #[test]
    fn an_unknown_region_or_account_matches_any() {
        let process = Process {
            statements: Some(vec![statement(true, "sqs:*", "arn:aws:sqs:eu-west-1:123456789012:or*")]),
            ..Process::default()
        };
        assert_eq!(process.may("sqs:SendMessage", "arn:aws:sqs:REGION:ACCOUNT:orders"), Some(true));
        assert_eq!(process.may("sqs:SendMessage", "arn:aws:sqs:REGION:ACCOUNT:others"), Some(false));
    }

    #[test]
    fn metrics_are_narrowed_by_their_namespace() {
        let mut narrowed = statement(true, "cloudwatch:PutMetricData", "*");
        narrowed.conditions.insert("cloudwatch:namespace".to_owned(), vec!["Redrive".to_owned()]);
        let process = Process { statements: Some(vec![narrowed]), ..Process::default() };
        assert_eq!(process.may_put_metrics("Redrive"), Some(true));
        assert_eq!(process.may_put_metrics("Shop"), Some(false));
    }

    #[test]
    fn a_denial_for_one_resource_does_not_deny_the_others() {
        let decide = |denied: &str| {
            let statements = vec![statement(true, "*", "*"), statement(false, "*", denied)];
            let process = Process { statements: Some(statements), ..Process::default() };
            (process.may_put_metrics("Redrive"), process.may_somewhere("kms:Decrypt"))
        };
        assert_eq!(decide("arn:aws:s3:::secret/*"), (Some(true), Some(true)));
        assert_eq!(decide("*"), (Some(false), Some(false)));
    }
}
