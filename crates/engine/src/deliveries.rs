//! The position of an attempt among the deliveries of its message.

/// The limits on the deliveries of a queue's messages.
#[derive(Debug, Clone, Copy)]
pub struct Deliveries {
    pub max_receive_count: Option<u32>,
    /// True if redrive can write dead letters.
    pub has_dead_letter_queue: bool,
}

/// The position of an attempt among the deliveries of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryPosition {
    More,
    /// SQS moves the message at the next receive.
    Last,
    /// The message's own limit is reached, or the queue's is passed, so SQS will not move the message.
    Beyond,
    /// The number of deliveries is not known.
    Unknown,
}

impl Deliveries {
    /// Returns the number of the last attempt, if it is known: the smaller of the queue's limit and `own`, the message's own
    /// limit.
    pub fn limit(self, own: Option<u32>) -> Option<u32> {
        own.into_iter().chain(self.max_receive_count).min()
    }

    /// Returns the position of an attempt. `own` is the message's own limit.
    pub fn standing(self, attempt: u32, own: Option<u32>) -> DeliveryPosition {
        match self.max_receive_count {
            Some(max) if attempt == max => DeliveryPosition::Last,
            _ if self.limit(own).is_some_and(|limit| attempt >= limit) => DeliveryPosition::Beyond,
            Some(_) => DeliveryPosition::More,
            None => DeliveryPosition::Unknown,
        }
    }

    /// Returns true if the message is not delivered again after this attempt fails.
    pub fn end_with(self, attempt: u32, own: Option<u32>) -> bool {
        match self.standing(attempt, own) {
            DeliveryPosition::Last => true,
            DeliveryPosition::Beyond => self.has_dead_letter_queue,
            DeliveryPosition::More | DeliveryPosition::Unknown => false,
        }
    }
}
