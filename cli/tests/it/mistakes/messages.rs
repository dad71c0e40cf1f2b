//! What goes wrong with `redrive send`.

use super::made::{Mistake, typed};

const LINES: &str = "messages.jsonl";

pub(super) fn sending() -> Vec<Mistake> {
    vec![
        typed("redrive send --queue orders"),
        typed("redrive send --queue orders messages.jsonl"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "[{\"body\": \"x\"}]"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "{\n  \"body\": \"x\"\n}"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "{\"email\": \"a@example.com\"}"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "order_id,cents"),
        typed("redrive send --queue orders messages.jsonl")
            .file(LINES, "{\"body\": \"good\"}\n{\"body\": \"\\u0001\"}"),
        typed("redrive send --queue orders messages.jsonl").file(LINES, "{\"body\": \"x\", \"delay\": 1000}"),
        typed("redrive send --queue orders --body x --attribute AWS.source=web"),
        typed("redrive send --queue orders --body x --attribute source"),
        typed("redrive send --queue orders.fifo --body x"),
        typed("redrive send --queue orders.fifo --body x --group-id a --delay 5"),
        typed("redrive send --queue orders --body x --deduplication-id a"),
        typed("redrive send --queue Orders --body x"),
    ]
}
