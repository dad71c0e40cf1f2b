//! What the policy of a queue itself allows.

use std::collections::BTreeSet;

use super::super::permissions::is_like;
use crate::template::Node;

/// What loses messages or brings wrong ones.
const CALLS: [&str; 4] = ["sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:PurgeQueue"];

/// Whether a queue's policy allows something to somebody else than a service.
pub fn policy_allows_others(document: &Node) -> bool {
    let Some(statements) = document.get("Statement") else { return true };
    list(statements).iter().any(|statement| {
        let principals = statement.get("Principal").map(Node::entries).unwrap_or_default();
        !denies(statement) && !matches!(principals, [(kind, _)] if kind == "Service")
    })
}

/// Which calls it allows to everybody, as far as it is known. A denial that may narrow that is taken to do so.
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html>
pub fn open_actions(document: &Node) -> BTreeSet<&'static str> {
    let statements = document.get("Statement").map(list).unwrap_or_default();
    if statements.iter().any(|it| denies(it) && !is_about_tls(it)) {
        return BTreeSet::new();
    }
    let is_open = |statement: &&Node| {
        let allows = statement.get("Effect").and_then(Node::as_text) == Some("Allow");
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
    statement.get("Effect").and_then(Node::as_text) == Some("Deny")
}

fn is_about_tls(statement: &Node) -> bool {
    let conditions = statement.get("Condition").map(Node::entries).unwrap_or_default();
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
    use crate::template::parse;

    fn open(statements: &str) -> Vec<&'static str> {
        let document = parse(&format!("Statement: {statements}")).expect("it is YAML");
        open_actions(&document).into_iter().collect()
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
