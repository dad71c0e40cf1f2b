//! What goes wrong with variables: of the function, and of AWS.

use super::made::{Mistake, typed};

pub(super) fn settings() -> Vec<Mistake> {
    let stops = "The function does not start, so nothing is received or lost: set the variable in the template and deploy again.";
    vec![
        typed("orders").variable("REDRIVE_CONCURRENCY", "0").advice(stops),
        typed("orders").variable("REDRIVE_BACKOFF", "5"),
        typed("orders").variable("REDRIVE_BACKOFF", "{\"delay\": 5, \"maxx\": 900}"),
        typed("orders").variable("REDRIVE_METRICS", "on"),
        typed("orders").variable("REDRIVE_ON_PANIC", "ignore"),
        typed("orders")
            .variable("REDRIVE_DEAD_LETTER_QUEUE_URL", "orders-dead")
            .advice("In a template: `!Ref OrdersDead`, which is the URL of a queue."),
        typed("orders").variable("REDRIVE_MAX_RECEIVE_COUNT", "0"),
    ]
}

pub(super) fn places() -> Vec<Mistake> {
    let list = "redrive dlq list --queue orders";
    vec![
        typed("redrive dlq list --queue orders --profile prod")
            .without("AWS_ENDPOINT_URL", "")
            .advice("`aws configure list-profiles` shows them; `aws configure sso` adds one."),
        typed(list).without("AWS_ENDPOINT_URL", "").without("AWS_REGION", "without a region"),
        typed(list)
            .without("AWS_ENDPOINT_URL", "without credentials")
            .advice("With single sign-on: `aws sso login`, and `--profile`."),
        typed("redrive dlq list --queue orders --endpoint-url localhost:9324"),
        typed(list).variable("AWS_ENDPOINT_URL", "localhost:9324"),
        typed(list)
            .variable("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
            .advice("Nobody listens there: start `redrive local --port`, or unset the variable."),
        typed(list).variable("REDRIVE_ORIGIN_SENDERS", "everybody"),
    ]
}
