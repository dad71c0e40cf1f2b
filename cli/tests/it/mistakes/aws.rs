//! What goes wrong with variables: of the function, and of AWS.

use super::made::{Mistake, typed};

pub(super) fn settings() -> Vec<Mistake> {
    vec![
        typed("orders").variable("REDRIVE_CONCURRENCY", "0"),
        typed("orders").variable("REDRIVE_BACKOFF", "5"),
        typed("orders").variable("REDRIVE_BACKOFF", "{\"delay\": 5, \"maxx\": 900}"),
        typed("orders").variable("REDRIVE_METRICS", "on"),
        typed("orders").variable("REDRIVE_ON_PANIC", "ignore"),
        typed("orders").variable("REDRIVE_DEAD_LETTER_QUEUE_URL", "orders-dead"),
        typed("orders").variable("REDRIVE_MAX_RECEIVE_COUNT", "0"),
    ]
}

pub(super) fn places() -> Vec<Mistake> {
    let list = "redrive dlq list --queue orders";
    vec![
        typed("redrive dlq list --queue orders --profile prod").without("AWS_ENDPOINT_URL", ""),
        typed(list).without("AWS_ENDPOINT_URL", "").without("AWS_REGION", "without a region"),
        typed(list).without("AWS_ENDPOINT_URL", "without credentials"),
        typed("redrive dlq list --queue orders --endpoint-url localhost:9324"),
        typed(list).variable("AWS_ENDPOINT_URL", "localhost:9324"),
        typed(list).variable("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        typed(list).variable("REDRIVE_ORIGIN_SENDERS", "everybody"),
    ]
}
