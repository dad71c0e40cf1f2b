//! A queue's own policy.

use std::collections::BTreeSet;

use super::super::Seen;
use super::super::process::{is_like, names};
use crate::{Node, Value};

/// A sender that needs permission from the queue's own policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub id: String,
    /// ARN of the rule, the topic or the bucket, which becomes `aws:SourceArn`.
    pub arn: String,
    /// True if CloudFormation will end its name with unknown characters.
    pub is_named_at_deployment: bool,
}

impl Sender {
    /// Returns `sns` for `arn:aws:sns:...`
    fn service(&self) -> &str {
        self.arn.split(':').nth(2).unwrap_or_default()
    }

    /// Returns true if a principal is its service, which in some regions has the region in its name.
    fn is(&self, principal: &str) -> bool {
        let rest = principal.strip_prefix(self.service());
        principal == "*" || rest.is_some_and(|rest| rest.starts_with('.') && rest.contains(".amazonaws.com"))
    }

    /// Returns why a policy does not allow it to send, or `None` if it does or if that is unknown.
    pub fn refused_by(&self, policy: &Node) -> Option<String> {
        let statements = policy.get("Statement").filter(|it| it.unknown().is_none()).map(list)?;
        let mut meant = statements.iter().filter(|it| !denies(it)).filter(|it| self.is_meant(it)).peekable();
        if meant.peek().is_none() {
            return Some(format!(
                "no statement of it allows sqs:SendMessage to {}.amazonaws.com",
                self.service()
            ));
        }
        let sources: Option<Vec<String>> = meant.map(|it| self.other_sources(it)).collect();
        Some(format!("its aws:SourceArn is {}", sources?.join(" or ")))
    }

    /// Returns true if a statement is about its service and about sending, as far as that is known.
    fn is_meant(&self, statement: &Node) -> bool {
        let is = |node: &Node, fits: &dyn Fn(&str) -> bool| {
            list(node).iter().any(|it| it.unknown().is_some() || it.as_text().is_some_and(fits))
        };
        let of_service = |principal: &Node| {
            principal.unknown().is_some()
                || is_everybody(principal)
                || principal.get("Service").is_some_and(|it| is(it, &|it| self.is(it)))
        };
        let sends = |pattern: &str| is_like("sqs:sendmessage", &pattern.to_lowercase());
        let principal = statement.get("Principal").or_else(|| statement.get("NotPrincipal"));
        principal.is_none_or(of_service) && statement.get("Action").is_none_or(|actions| is(actions, &sends))
    }

    /// Returns what a statement's condition names instead of it, or `None` if it may name it.
    fn other_sources(&self, statement: &Node) -> Option<String> {
        let conditions = statement.get("Condition")?.entries().iter();
        let keys = conditions.flat_map(|(test, keys)| keys.entries().iter().map(move |key| (test, key)));
        let sources = keys.filter(|(test, (key, _))| {
            let is_positive = POSITIVE.iter().any(|known| test.eq_ignore_ascii_case(known));
            is_positive && key.eq_ignore_ascii_case("aws:SourceArn")
        });
        let may_be = |pattern: &Node| match pattern.as_text() {
            Some(pattern) => {
                names(pattern, &self.arn) || (self.is_named_at_deployment && pattern.contains(['*', '?']))
            }
            None => true,
        };
        let others = sources.map(|(_, (_, patterns))| list(patterns)).find(|it| !it.iter().any(may_be))?;
        let others: Vec<&str> = others.iter().filter_map(Node::as_text).collect();
        Some(others.join(" or "))
    }
}

/// Condition operators that match the values that they name.
const POSITIVE: [&str; 4] = ["ArnEquals", "ArnLike", "StringEquals", "StringLike"];

/// Adds the statements of another policy of the same queue.
pub(super) fn join(policy: &mut Seen<Node>, other: Option<&Node>) {
    let more = other.and_then(|it| it.get("Statement")).filter(|it| it.unknown().is_none());
    let Some(more) = more else { return *policy = Seen::Unknown };
    if policy.is_absent() {
        let line = more.line;
        let none = Node { line, value: Value::List(Vec::new()) };
        *policy = Seen::There(Node { line, value: Value::Map(vec![("Statement".to_owned(), none)]) });
    }
    if let Seen::There(Node { value: Value::Map(entries), .. }) = policy
        && let [(_, Node { value: Value::List(all), .. })] = entries.as_mut_slice()
    {
        all.extend_from_slice(list(more));
    }
}

/// Calls that can lose messages or add wrong ones.
const CALLS: [&str; 4] = ["sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:PurgeQueue"];

/// Returns true if a queue's policy allows something to a principal that is not a service.
pub fn policy_allows_others(document: &Node) -> bool {
    let Some(statements) = document.get("Statement") else { return true };
    list(statements).iter().any(|statement| {
        let principals = statement.entries_at("Principal");
        !denies(statement) && !matches!(principals, [(kind, _)] if kind == "Service")
    })
}

/// Returns the calls that it allows to everybody, as far as that is known. It assumes that a denial narrows them.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html>
pub fn open_actions(document: &Node) -> BTreeSet<&'static str> {
    let statements = document.get("Statement").map(list).unwrap_or_default();
    if statements.iter().any(|it| denies(it) && !is_about_tls(it)) {
        return BTreeSet::new();
    }
    let is_open = |statement: &&Node| {
        let allows = statement.text_at("Effect") == Some("Allow");
        let is_conditional = statement.get("Condition").is_some();
        allows && !is_conditional && statement.get("Principal").is_some_and(is_everybody)
    };
    let open = statements.iter().filter(is_open);
    let patterns: Vec<String> = open
        .filter_map(|statement| statement.get("Action"))
        .flat_map(|actions| list(actions).iter().filter_map(Node::as_text))
        .map(str::to_lowercase)
        .collect();
    let is_allowed = |call: &&str| patterns.iter().any(|pattern| is_like(&call.to_lowercase(), pattern));
    CALLS.into_iter().filter(is_allowed).collect()
}

fn list(node: &Node) -> &[Node] {
    node.as_list().unwrap_or(std::slice::from_ref(node))
}

fn denies(statement: &Node) -> bool {
    statement.text_at("Effect") == Some("Deny")
}

fn is_about_tls(statement: &Node) -> bool {
    let conditions = statement.entries_at("Condition");
    let mut keys = conditions.iter().flat_map(|(_, keys)| keys.entries());
    !conditions.is_empty() && keys.all(|(key, _)| key.eq_ignore_ascii_case("aws:SecureTransport"))
}

fn is_everybody(principal: &Node) -> bool {
    let is_star = |node: &Node| list(node).iter().any(|it| it.as_text() == Some("*"));
    is_star(principal) || principal.get("AWS").is_some_and(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn open(statements: &str) -> Vec<&'static str> {
        let document = parse(&format!("Statement: {statements}")).expect("it is YAML");
        open_actions(&document).into_iter().collect()
    }

    fn refused(statements: &str) -> Option<String> {
        let document = parse(&format!("Statement: {statements}")).expect("it is YAML");
        let arn = "arn:aws:sns:eu-west-1:123456789012:sold".to_owned();
        Sender { id: "Sold".to_owned(), arn, is_named_at_deployment: false }.refused_by(&document)
    }

    #[test]
    fn a_sender_is_refused_if_no_statement_may_mean_it() {
        let topic = |principal: &str, condition: &str| {
            format!("{{Effect: Allow, Principal: {principal}, Action: 'sqs:Send*', Condition: {condition}}}")
        };
        let sns = "{Service: sns.amazonaws.com}";
        let other = topic(sns, "{ArnEquals: {'aws:SourceArn': 'arn:aws:sns:*:*:other'}}");
        assert_eq!(refused(&other).unwrap(), "its aws:SourceArn is arn:aws:sns:*:*:other");
        let elsewhere = topic("{Service: events.amazonaws.com}", "{}");
        let unmeant = "no statement of it allows sqs:SendMessage to sns.amazonaws.com";
        assert_eq!(refused(&elsewhere).unwrap(), unmeant);
        for allowed in [
            topic(sns, "{ArnLike: {'AWS:SourceArn': ['arn:aws:sns:*:*:s?ld', x]}}"),
            topic(sns, "{StringEquals: {'aws:SourceAccount': '1'}}"),
            topic(sns, "{ArnNotEquals: {'aws:SourceArn': 'arn:aws:sns:*:*:other'}}"),
            topic("{Service: sns.eu-south-1.amazonaws.com}", "{}"),
            topic("'*'", "{ArnEquals: {'aws:SourceArn': 'arn:aws:sns:eu-west-1:123456789012:sold'}}"),
            topic("{AWS: '*'}", "{Bool: {'aws:SecureTransport': 'true'}}"),
        ] {
            assert_eq!(refused(&allowed), None, "{allowed}");
            assert_eq!(refused(&format!("[{other}, {elsewhere}, {allowed}]")), None, "{allowed}");
        }
    }

    #[test]
    fn thousands_of_policies_are_joined() {
        let document =
            parse(&format!("Statement: [{}]", "{Effect: Allow}, ".repeat(20))).expect("it is YAML");
        let mut policy = Seen::Absent;
        (0..20_000).for_each(|_| join(&mut policy, Some(&document)));
        assert_eq!(policy.there().map(|it| it.items_at("Statement").len()), Some(400_000));
        join(&mut policy, None);
        join(&mut policy, Some(&document));
        assert!(policy.there().is_none() && !policy.is_absent());
    }

    #[test]
    fn everybody_is_a_star_that_nothing_narrows() {
        const TLS: &str = r#"{Effect: Deny, Principal: "*", Action: "sqs:*", Condition: {Bool: {"aws:SecureTransport": "false"}}}"#;
        const ORG: &str = r#"{Effect: Deny, Principal: "*", Action: "sqs:*", Condition: {StringNotEquals: {"aws:PrincipalOrgID": o}}}"#;
        let send = ["sqs:SendMessage"];
        let allow = r#"{Effect: Allow, Principal: "*", Action: "SQS:sendmessage"}"#;
        assert_eq!(open(allow), send);
        assert_eq!(open(&format!("[{allow}, {TLS}]")), send);
        assert_eq!(
            open(r#"{Effect: Allow, Principal: {AWS: ["1", "*"]}, Action: [sqs:Send*, sqs:Get*]}"#),
            send
        );
        assert_eq!(open(r#"{Effect: Allow, Principal: "*", Action: "*"}"#).len(), CALLS.len());
        for narrow in [
            &format!("[{allow}, {ORG}]"),
            r#"{Effect: Allow, Principal: "*", Action: "sqs:*", Condition: {ArnEquals: {"aws:SourceArn": a}}}"#,
            r#"{Effect: Allow, Principal: {Service: sns.amazonaws.com}, Action: "sqs:*"}"#,
            r#"{Effect: Allow, Principal: {AWS: "123456789012"}, Action: "sqs:*"}"#,
            r#"{Effect: Allow, Principal: "*", Action: sqs:GetQueueUrl}"#,
        ] {
            assert_eq!(open(narrow), [""; 0], "{narrow}");
        }
    }
}
