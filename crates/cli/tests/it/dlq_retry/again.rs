//! Letters that fail again while the command still runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use redrive_local::QueueConfig;

use super::letters::{DEAD, ORDERS};
use crate::support::{ACCOUNT, Aws, REGION};

/// Queues of which the first delivery of a message is its last.
fn impatient() -> Aws {
    let policy =
        format!(r#"{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:{DEAD}","maxReceiveCount":1}}"#);
    let attributes = BTreeMap::from([("RedrivePolicy".to_owned(), policy)]);
    Aws::start(vec![
        QueueConfig { name: DEAD.to_owned(), attributes: BTreeMap::new() },
        QueueConfig { name: ORDERS.to_owned(), attributes },
    ])
}

#[test]
fn a_retry_of_letters_that_fail_again_fails() {
    let aws = impatient();
    for body in ["one", "two"] {
        aws.letter(body);
    }
    let is_over = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            // A consumer that fails at once.
            while !is_over.load(Ordering::Relaxed) {
                let request = aws.sqs.receive_message().queue_url(aws.queue_url(ORDERS));
                let request = request.max_number_of_messages(10).visibility_timeout(0);
                aws.wait(request.send()).expect("it answers");
            }
        });
        let ran = aws.redrive("dlq retry --queue orders --yes");
        is_over.store(true, Ordering::Relaxed);
        ran
    });
    ran.printed(1, "2 sent from orders-dead to orders, 2 failed again\n");
    ran.told(1, "redrive: 2 letters failed again\n");
    assert_eq!(aws.counts(DEAD), (2, 0));
}
