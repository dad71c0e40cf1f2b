//! Compares the queues with the reference, step by step, over random operations.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::test_runner::TestCaseError;
use proptest::{collection, option, prop_assert_eq, proptest};

use super::Sqs;
use super::reference::{DEAD, FIFO_DELAY, LIMIT, RETENTION, Receipt, Reference, SOURCE, VISIBILITY};
use crate::protocol::AwsError;
use crate::queue::NewMessage;

#[derive(Debug, Clone)]
enum Step {
    /// Group, deduplication id and delay of each message.
    Send(Vec<(u8, u8, u64)>),
    Receive {
        queue: usize,
        max: usize,
        timeout: Option<u64>,
        attempt: Option<u8>,
    },
    /// The receipt is the one with this index from the end of those so far, modulo their number.
    Change {
        which: usize,
        timeout: u64,
    },
    Delete {
        which: usize,
    },
    Pass {
        seconds: u64,
    },
    Purge {
        queue: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let message = (0..3u8, 0..8u8, prop_oneof![3 => Just(0), 1 => 1..20u64]);
    let queue = || prop_oneof![3 => Just(SOURCE), 1 => Just(DEAD)];
    let which = || prop_oneof![3 => 0..3usize, 1 => any::<usize>()];
    let timeout = || prop_oneof![2 => Just(0), 6 => 1..60u64, 1 => 43_190..43_202u64];
    let boundary = proptest::sample::select(vec![VISIBILITY, 60, RETENTION[SOURCE], 300, RETENTION[DEAD]]);
    let pass = prop_oneof![5 => 0..40u64, 1 => 40..400u64, 2 => boundary];
    let receive = (queue(), 1..=10usize, option::of(timeout()), option::weighted(0.2, 0..2u8));
    prop_oneof![
        4 => collection::vec(message, 1..4).prop_map(Step::Send),
        6 => receive.prop_map(|(queue, max, timeout, attempt)| Step::Receive { queue, max, timeout, attempt }),
        3 => (which(), timeout()).prop_map(|(which, timeout)| Step::Change { which, timeout }),
        3 => which().prop_map(|which| Step::Delete { which }),
        4 => pass.prop_map(|seconds| Step::Pass { seconds }),
        1 => queue().prop_map(|queue| Step::Purge { queue }),
    ]
}

/// The queues and the reference, with the mapping of their names.
struct Pair {
    fifo: bool,
    queues: Sqs,
    names: [String; 2],
    reference: Reference,
    messages: HashMap<String, u64>,
    receipts: Vec<(String, Receipt)>,
}

impl Pair {
    fn new(fifo: bool) -> Self {
        let mut queues = Sqs::new("eu-west-1", "123456789012");
        let names = ["q", "dead"].map(|name| format!("{name}{}", if fifo { ".fifo" } else { "" }));
        let policy =
            format!(r#"{{"deadLetterTargetArn":"{}","maxReceiveCount":{LIMIT}}}"#, queues.arn(&names[DEAD]));
        for queue in [DEAD, SOURCE] {
            let mut attributes = BTreeMap::from([
                ("MessageRetentionPeriod".to_owned(), RETENTION[queue].to_string()),
                ("VisibilityTimeout".to_owned(), VISIBILITY.to_string()),
            ]);
            if fifo {
                attributes.insert("FifoQueue".to_owned(), "true".to_owned());
                attributes.insert("DelaySeconds".to_owned(), FIFO_DELAY.to_string());
            }
            if queue == SOURCE {
                attributes.insert("RedrivePolicy".to_owned(), policy.clone());
            }
            queues.create(&names[queue], &attributes, UNIX_EPOCH).unwrap();
        }
        let (reference, messages, receipts) = (Reference::new(fifo), HashMap::new(), Vec::new());
        Self { fifo, queues, names, reference, messages, receipts }
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.reference.now)
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Send(messages) => {
                for message in messages {
                    self.send(message)?;
                }
            }
            Step::Receive { queue, max, timeout, attempt } => {
                self.receive(*queue, *max, *timeout, attempt.filter(|_| self.fifo))?;
            }
            Step::Change { which, timeout } => {
                let Some((handle, receipt)) = self.receipt(*which) else { return Ok(()) };
                let (queue, timeout) = (&self.names[receipt.queue], *timeout);
                let now = self.now();
                let changed =
                    self.queues.change_visibility(queue, &handle, Duration::from_secs(timeout), now);
                prop_assert_eq!(changed.is_ok(), self.reference.change(receipt, timeout));
            }
            Step::Delete { which } => {
                let Some((handle, receipt)) = self.receipt(*which) else { return Ok(()) };
                let deleted = self.queues.delete(&self.names[receipt.queue], &handle, self.now());
                prop_assert_eq!(deleted.is_ok(), self.reference.delete(receipt));
            }
            Step::Pass { seconds } => self.reference.pass(*seconds),
            Step::Purge { queue } => {
                let purged = self.queues.purge(&self.names[*queue], self.now());
                prop_assert_eq!(purged.is_ok(), self.reference.purge(*queue));
            }
        }
        self.compare_counts()
    }

    fn send(&mut self, &(group, duplicate, delay): &(u8, u8, u64)) -> Result<(), TestCaseError> {
        let message = NewMessage {
            body: "b".to_owned(),
            group_id: Some(group.to_string()),
            deduplication_id: self.fifo.then(|| duplicate.to_string()),
            delay: (!self.fifo).then(|| Duration::from_secs(delay)),
            ..NewMessage::default()
        };
        let now = self.now();
        let sent = self.queues.send(&self.names[SOURCE], message, now).unwrap();
        let expected = self.reference.send(group, duplicate, delay);
        prop_assert_eq!(*self.messages.entry(sent.message_id).or_insert(expected), expected);
        Ok(())
    }

    fn receive(
        &mut self,
        queue: usize,
        max: usize,
        timeout: Option<u64>,
        attempt: Option<u8>,
    ) -> Result<(), TestCaseError> {
        let id = attempt.map(|id| id.to_string());
        let visibility = timeout.map(Duration::from_secs);
        let now = self.now();
        let received = self.queues.receive_attempt(&self.names[queue], id.as_deref(), max, visibility, now);
        let timeout = timeout.unwrap_or(VISIBILITY);
        if timeout > 43_200 {
            prop_assert_eq!(received.map_err(|error| error.code()), Err("InvalidParameterValue"));
            return Ok(());
        }
        let mut got = Vec::new();
        for message in received.map_err(|error: AwsError| TestCaseError::fail(error.to_string()))? {
            let (name, receive) = (self.messages[&message.message_id], message.receive_count);
            got.push((name, receive));
            self.receipts.push((message.receipt_handle, Receipt { queue, name, receive }));
        }
        prop_assert_eq!(got, self.reference.receive(queue, max, timeout, attempt));
        Ok(())
    }

    fn receipt(&self, which: usize) -> Option<(String, Receipt)> {
        let which = which.checked_rem(self.receipts.len())?;
        self.receipts.iter().rev().nth(which).cloned()
    }

    fn compare_counts(&self) -> Result<(), TestCaseError> {
        for queue in [SOURCE, DEAD] {
            let counts = self.queues.counts(&self.names[queue], self.now()).unwrap();
            let counts = (counts.visible, counts.in_flight + counts.delayed);
            prop_assert_eq!(counts, self.reference.counts(queue), "{}", self.names[queue]);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn standard_queues_do_what_the_reference_does(steps in collection::vec(step(), 1..60)) {
        let mut pair = Pair::new(false);
        steps.iter().try_for_each(|step| pair.take(step))?;
    }

    #[test]
    fn fifo_queues_do_what_the_reference_does(steps in collection::vec(step(), 1..60)) {
        let mut pair = Pair::new(true);
        steps.iter().try_for_each(|step| pair.take(step))?;
    }
}
