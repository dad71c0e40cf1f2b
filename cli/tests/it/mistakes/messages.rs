//! What goes wrong with `redrive send`.

use super::made::{Mistake, typed};

const LINES: &str = "messages.jsonl";

pub(super) fn sending() -> Vec<Mistake> {
    vec![
        typed("redrive send --queue orders"),
        typed("redrive send --queue orders messages.jsonl").advice("`ls`; the path is relative to where you are."),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "[{\"body\": \"x\"}]"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "{\n  \"body\": \"x\"\n}"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "{\"email\": \"a@example.com\"}"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "order_id,cents"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "{\"body\": \"good\"}\n{\"body\": \"\\u0001\"}")
            .advice("Nothing was sent: line 1 is sent with the others once line 2 is right."),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "{\"body\": \"x\", \"delay\": 1000}"),
        typed("redrive send --queue orders --body x --attribute AWS.source=web"),
        typed("redrive send --queue orders --body x --attribute source")
            .advice("An empty value is not possible in SQS: leave the attribute out."),
        typed("redrive send --queue orders.fifo --body x").advice("Add `--group-id ID`: messages of one group keep their order."),
        typed("redrive send --queue orders.fifo --body x --group-id a --delay 5"),
        typed("redrive send --queue orders --body x --deduplication-id a")
            .advice("A standard queue does not deduplicate: make the handler idempotent."),
        typed("redrive send --queue Orders --body x")
            .advice("Names are case-sensitive. `aws sqs list-queues` shows them; `--stack shop` finds the queue by itself."),
    ]
}
