//! What goes wrong with `redrive queue` and `redrive schedule`.

use super::made::{Mistake, typed};

pub(super) fn all() -> Vec<Mistake> {
    vec![
        typed("redrive queue status --queue 'my orders'"),
        typed("redrive queue status --queue arn:aws:sqs:us-east-1:123456789012:orders"),
        typed("redrive queue pause --queue orders-dead"),
        typed("redrive queue resume --function wrker"),
        typed("redrive queue attach --queue orders --max-receive-count 0"),
        typed("redrive queue attach --queue orders --dead-letter-queue orders --yes"),
        typed("redrive queue detach --queue orders"),
        typed("redrive schedule --template shop.yaml"),
        typed("redrive schedule --retention 15d"),
        typed("redrive schedule --max-receive-count 2000"),
        typed("redrive schedule --backoff 5"),
    ]
}
