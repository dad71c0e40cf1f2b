//! Questions, and the queues that they name.

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::json;

use super::{assert_harmless, hostile};
use crate::letters::DEAD;
use crate::proxy::{Fate, Proxy};
use crate::support::{ACCOUNT, Aws, REGION};
use crate::terminal::Terminal;

/// An AWS that gives the dead-letter queue a hostile name.
fn with_hostile_name() -> (Aws, Proxy) {
    let aws = Aws::with_orders(false);
    aws.letter("x");
    let url = format!("{}{}", aws.queue_url(DEAD), hostile());
    let policy = json!({ "deadLetterTargetArn": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{DEAD}"), "maxReceiveCount": 3 });
    let attributes = json!({
        QueueAttributeName::QueueArn.as_str(): format!("arn:aws:sqs:{REGION}:{ACCOUNT}:orders"),
        QueueAttributeName::RedrivePolicy.as_str(): policy.to_string(),
        QueueAttributeName::ApproximateNumberOfMessages.as_str(): "1",
    });
    let dead = json!({
        QueueAttributeName::QueueArn.as_str(): format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{DEAD}"),
        QueueAttributeName::ApproximateNumberOfMessages.as_str(): "1",
    });
    let proxy = Proxy::start(&aws.url.clone(), move |call, _| match call.action.as_str() {
        "GetQueueUrl" if call.input["QueueName"] == DEAD => Fate::Answers(json!({ "QueueUrl": url })),
        "GetQueueAttributes" if call.input["QueueUrl"] == url => Fate::Answers(json!({ "Attributes": dead })),
        "GetQueueAttributes" => Fate::Answers(json!({ "Attributes": attributes })),
        _ => Fate::Answered,
    });
    (aws, proxy)
}

#[test]
fn a_question_is_text_on_one_line() {
    let (_aws, proxy) = with_hostile_name();
    for verb in ["dlq retry", "dlq retry --native --to orders", "dlq delete --all", "dlq purge"] {
        let mut terminal = Terminal::run(Terminal::command(&proxy.url, &format!("{verb} --queue orders")));
        terminal.expect("? ");
        terminal.enter("n");
        terminal.end();
        assert_harmless(&terminal.written());
    }
}
