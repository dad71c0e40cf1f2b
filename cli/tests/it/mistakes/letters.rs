//! What goes wrong with `redrive dlq`.

use super::made::{Mistake, typed};

pub(super) fn dead() -> Vec<Mistake> {
    vec![
        typed("redrive dlq list"),
        typed("redrive dlq lst --queue orders"),
        typed("redrive dlq list --queue orders --stack shop"),
        typed("redrive dlq list shop"),
        typed("redrive dlq list --stack shopp"),
        typed("redrive dlq list --function wrker"),
        typed("redrive dlq show --queue orders"),
        typed("redrive dlq show --queue orders 5c0f6ad0"),
        typed("redrive dlq retry --queue orders"),
        typed("redrive dlq retry --queue orders --where 'reson = panic' --dry-run"),
        typed("redrive dlq retry --queue orders --where 'reason is panic' --dry-run"),
        typed("redrive dlq retry --queue orders --where 'reason = pannic' --dry-run"),
        typed("redrive dlq list --queue orders --where 'reason = panic or reason = malformed'"),
        typed("redrive dlq delete --queue orders --where 'error !~ gateway' --dry-run"),
        typed("redrive dlq retry --queue orders --where 'body ~ (' --dry-run"),
        typed("redrive dlq retry --queue orders --to orders-dead --yes"),
        typed("redrive dlq retry --queue orders --edit"),
        typed("redrive dlq delete --queue orders --yes"),
        typed("redrive dlq purge --queue orders"),
        typed("redrive dlq triage --queue orders"),
    ]
}

pub(super) fn files() -> Vec<Mistake> {
    vec![
        typed("redrive dlq export --queue orders letters.jsonl")
            .file("letters.jsonl", "{\"body\": \"kept\"}"),
        typed("redrive dlq import --queue orders letters.jsonl").file("letters.jsonl", "id,body\n1,x\n2,y"),
        typed("redrive dlq import --queue orders letters.jsonl").file("letters.jsonl", "[{\"body\": \"x\"}]"),
        typed("redrive dlq retry --queue orders --ids ids.txt --yes").file("ids.txt", "5c0f6ad0 and others"),
    ]
}
