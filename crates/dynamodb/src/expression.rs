//! DynamoDB's expressions for writes and their conditions.

use std::collections::HashMap;
use std::time::SystemTime;

use aws_sdk_dynamodb::types::AttributeValue;
use redrive::once::{Change, Claim};

use crate::item::{
    COMPLETED, IN_PROGRESS, REJECTED, end_of, millis, millis_now, number, seconds, seconds_now, text,
};

/// The values that an expression names.
pub(crate) type Values = HashMap<String, AttributeValue>;

/// The condition under which a claim is granted, the same as in `Record::claimed`.
pub(crate) const CLAIM_CONDITION: &str = "attribute_not_exists(#id) OR #expiration <= :seconds \
    OR (#status = :in_progress AND (#in_progress_expiration <= :millis OR #token = :token)) \
    OR (#outcome = :rejected AND #redrives < :redrives)";

pub(crate) fn claim_values(claim: &Claim, now: SystemTime) -> Values {
    values([
        ("seconds", seconds_now(now)),
        ("millis", millis_now(now)),
        ("in_progress", text(IN_PROGRESS)),
        ("token", text(&*claim.token)),
        ("rejected", text(REJECTED)),
        ("redrives", number(claim.redrives)),
    ])
}

/// A change and its condition.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) expression: String,
    pub(crate) condition: &'static str,
    pub(crate) values: Values,
}

const HAS_CLAIM: &str = "#token = :token AND #status = :in_progress";

/// Returns the updates of a change, of which the first whose condition holds is written.
pub(crate) fn updates(token: &str, change: &Change, now: SystemTime) -> Vec<Update> {
    let update = |expression: &str, condition, more: Vec<(&str, AttributeValue)>| {
        let held = [("token", text(token)), ("in_progress", text(IN_PROGRESS))];
        Update { expression: expression.to_owned(), condition, values: values(held.into_iter().chain(more)) }
    };
    match change {
        Change::Renew(lease) => {
            let until = now + *lease;
            let more = || vec![("until", millis(until)), ("expires", seconds(until))];
            // DynamoDB has no maximum of two numbers. The client may send the second one twice.
            vec![
                update(
                    "SET #in_progress_expiration = :until",
                    "#token = :token AND #status = :in_progress AND #expiration >= :expires",
                    more(),
                ),
                update(
                    "SET #in_progress_expiration = :until, #expiration = :expires",
                    "#token = :token AND #status = :in_progress AND #expiration <= :expires",
                    more(),
                ),
            ]
        }
        // The key is free at once, even by a clock that is behind this one.
        Change::Release => {
            vec![update(
                "SET #in_progress_expiration = :zero REMOVE #token",
                HAS_CLAIM,
                vec![("zero", number(0_u32))],
            )]
        }
        Change::End { end, keep } => {
            let mut more = end_of(end);
            more.extend([("status", text(COMPLETED)), ("expiration", seconds(now + *keep))]);
            let set: Vec<_> = more.iter().map(|(name, _)| format!("#{name} = :{name}")).collect();
            vec![update(&format!("SET {}", set.join(", ")), HAS_CLAIM, more)]
        }
    }
}

/// Returns the names in expressions. Each attribute is `#` and its name, because some names are reserved words.
pub(crate) fn names(expressions: &[&str]) -> HashMap<String, String> {
    let words =
        expressions.iter().flat_map(|it| it.split(|c: char| !c.is_alphabetic() && !"#:_".contains(c)));
    words.filter_map(|word| Some((word.to_owned(), word.strip_prefix('#')?.to_owned()))).collect()
}

pub(crate) fn values<'a>(values: impl IntoIterator<Item = (&'a str, AttributeValue)>) -> Values {
    values.into_iter().map(|(name, value)| (format!(":{name}"), value)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::{Duration, UNIX_EPOCH};

    use redrive::once::End;

    use super::*;

    /// DynamoDB refuses an expression with a value or a name that it was not given, or that is not used.
    #[test]
    fn expressions_use_the_values_that_they_have() {
        let end = |end| Change::End { end, keep: Duration::ZERO };
        let rejected = End::Rejected { reason: Some("no-stock".to_owned()), error: "no".to_owned() };
        let changes = [Change::Renew(Duration::ZERO), Change::Release, end(End::Done), end(rejected)];
        let updates = changes.iter().flat_map(|change| updates("a", change, UNIX_EPOCH));
        let mut used: Vec<(String, Values)> =
            updates.map(|it| (format!("{} {}", it.expression, it.condition), it.values)).collect();
        used.push((CLAIM_CONDITION.to_owned(), claim_values(&Claim::new("k", "a"), UNIX_EPOCH)));
        for (expression, values) in used {
            let words = expression.split(|c: char| !c.is_alphabetic() && !":_".contains(c));
            let named: BTreeSet<_> = words.filter(|word| word.starts_with(':')).collect();
            assert_eq!(named, values.keys().map(String::as_str).collect(), "{expression}");
        }
    }

    #[test]
    fn names_are_those_after_the_signs() {
        let found = names(&["SET #token = :token", "attribute_not_exists(#id) OR #a_b<:c"]);
        let expected = [("#token", "token"), ("#id", "id"), ("#a_b", "a_b")];
        assert_eq!(found, expected.map(|(sign, name)| (sign.to_owned(), name.to_owned())).into());
    }
}
