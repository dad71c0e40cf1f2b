//! Addresses of resources, and what expressions refer to, taken apart: `module.queues["a"].aws_sqs_queue.this[0].arn`.
//! <https://developer.hashicorp.com/terraform/cli/state/resource-addressing>

/// A part of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Name(&'a str),
    /// What stands in brackets, as it is written: `0` or `"a"`.
    Key(&'a str),
}

/// The parts of an address, as far as it can be read.
pub(super) fn steps(address: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut rest = address;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let Some(end) = end_of_key(inside) else { return steps };
            steps.push(Step::Key(&inside[..end]));
            rest = &inside[end + 1..];
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return steps;
            }
            steps.push(Step::Name(&rest[..end]));
            rest = &rest[end..];
        }
    }
    steps
}

/// Where the bracket ends; one in a quoted text does not count.
fn end_of_key(inside: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// An address without its last key, and that key: `aws_sqs_queue.this` and `0`.
pub(super) fn split_key(address: &str) -> (&str, Option<&str>) {
    let Some(Step::Key(key)) = steps(address).last().copied() else { return (address, None) };
    let base = address.strip_suffix(']').and_then(|rest| rest.strip_suffix(key)?.strip_suffix('['));
    base.map_or((address, None), |base| (base, Some(key)))
}

/// Without those that only lead to the one before them: Terraform names `a.b.c`, `a.b` and `a` where `a.b.c` is written.
pub(super) fn whole<'a>(references: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for reference in references {
        let leads_on = |last: &&str| {
            last.strip_prefix(reference).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        if !all.last().is_some_and(leads_on) && !all.contains(&reference) {
            all.push(reference);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Step::{Key, Name};
    use super::*;

    #[test]
    fn an_address_is_taken_apart_whatever_its_keys_hold() {
        for (address, parts) in [
            ("aws_sqs_queue.orders.arn", vec![Name("aws_sqs_queue"), Name("orders"), Name("arn")]),
            ("q.this[0].arn", vec![Name("q"), Name("this"), Key("0"), Name("arn")]),
            (r#"module.q["a.b]\"c"].q.this"#, {
                vec![Name("module"), Name("q"), Key(r#""a.b]\"c""#), Name("q"), Name("this")]
            }),
            ("a[open", vec![Name("a")]),
            ("a..b", vec![Name("a")]),
            ("", vec![]),
        ] {
            assert_eq!(steps(address), parts, "{address}");
        }
        assert_eq!(split_key("q.this[0]"), ("q.this", Some("0")));
        assert_eq!(split_key("[é].]"), ("[é].]", None));
        assert_eq!(split_key(r#"module.m["a"].q.this"#), (r#"module.m["a"].q.this"#, None));
    }

    #[test]
    fn what_only_leads_to_a_reference_is_none() {
        let references = ["q.a[0].arn", "q.a[0]", "q.a", "var.x", "q.ab", "q.a", "q.ab"];
        assert_eq!(whole(references.into_iter()), ["q.a[0].arn", "var.x", "q.ab", "q.a"]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(address in r#"[a\[\]."\\é0]{0,20}"#) {
            let (base, key) = split_key(&address);
            prop_assert!(address.starts_with(base));
            prop_assert_eq!(key.is_some(), base.len() < address.len());
        }
    }
}
