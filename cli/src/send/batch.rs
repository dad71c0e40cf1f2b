//! Which messages go in one request. Pure.

use std::collections::BTreeSet;

use redrive_sqs::{MAX_BYTES, MAX_ENTRIES};

use super::entry::size;
use super::read::Sending;

/// In their order, at most ten and 1 MiB each; at a low rate no more than a second's worth. To a FIFO queue one message of
/// a group at most: SQS may refuse an entry and take those behind it.
pub(super) fn batches(sendings: &[Sending], is_fifo: bool, rate: Option<f64>) -> Vec<&[Sending]> {
    let most = rate.map_or(MAX_ENTRIES, |rate| (rate.ceil() as usize).clamp(1, MAX_ENTRIES));
    let mut batches = Vec::new();
    let (mut begin, mut bytes, mut groups) = (0, 0, BTreeSet::new());
    for (index, sending) in sendings.iter().enumerate() {
        let size = size(&sending.message);
        let group = sending.message.group_id.as_ref().filter(|_| is_fifo);
        let is_behind = group.is_some_and(|group| groups.contains(group));
        if index - begin == most || is_behind || (index > begin && bytes + size > MAX_BYTES) {
            batches.push(&sendings[begin..index]);
            (begin, bytes) = (index, 0);
            groups.clear();
        }
        bytes += size;
        groups.extend(group);
    }
    if begin < sendings.len() {
        batches.push(&sendings[begin..]);
    }
    batches
}

#[cfg(test)]
mod tests {
    use redrive_local::NewMessage;

    use super::*;
    use crate::messages::Address;

    fn lengths(sizes: &[usize], rate: Option<f64>) -> Vec<usize> {
        let sendings: Vec<Sending> = sizes
            .iter()
            .map(|size| Sending {
                place: String::new(),
                to: Address::Any,
                message: NewMessage { body: "a".repeat(*size), ..NewMessage::default() },
            })
            .collect();
        let batches = batches(&sendings, true, rate);
        assert_eq!(batches.concat(), sendings);
        batches.into_iter().map(<[Sending]>::len).collect()
    }

    #[test]
    fn a_batch_to_a_fifo_queue_has_one_message_of_a_group() {
        let sending = |group: &&str| Sending {
            place: String::new(),
            to: Address::Any,
            message: NewMessage { group_id: Some((*group).to_owned()), ..NewMessage::default() },
        };
        let sendings: Vec<_> = ["a", "b", "a", "a", "c", "b"].iter().map(sending).collect();
        let lengths =
            |is_fifo| batches(&sendings, is_fifo, None).into_iter().map(<[Sending]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(true), [2, 1, 3]);
        assert_eq!(lengths(false), [6], "a group is for fairness there");
    }

    #[test]
    fn a_batch_has_at_most_ten_messages_and_a_mebibyte() {
        assert_eq!(lengths(&[1; 23], None), [10, 10, 3]);
        assert_eq!(lengths(&[MAX_BYTES, 1, MAX_BYTES - 1, 1], None), [1, 2, 1]);
        assert_eq!(lengths(&[], None), [0; 0]);
    }

    #[test]
    fn a_low_rate_makes_small_batches() {
        assert_eq!(lengths(&[1; 5], Some(2.0)), [2, 2, 1]);
        assert_eq!(lengths(&[1; 2], Some(0.1)), [1, 1]);
        assert_eq!(lengths(&[1; 11], Some(500.0)), [10, 1]);
    }
}
