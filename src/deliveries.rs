//! Where an attempt stands among the deliveries of its message, and whether a failure ends them.

/// What is known of the deliveries of a queue's messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deliveries {
    pub(crate) max_receive_count: Option<u32>,
    /// Whether redrive can write letters.
    pub(crate) has_dead_letter_queue: bool,
}

/// Where an attempt stands among the deliveries of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    More,
    /// SQS moves the message at the next receive.
    Last,
    /// The message's own limit is reached, or the queue's is passed, so SQS will not move the message.
    Beyond,
    /// The number of deliveries is not known.
    Unknown,
}

impl Deliveries {
    /// The last attempt, if it is known: the smaller of the queue's limit and `own`, which the message asks for.
    pub(crate) fn limit(self, own: Option<u32>) -> Option<u32> {
        own.into_iter().chain(self.max_receive_count).min()
    }

    /// `own` is the limit that the message asks for.
    pub(crate) fn standing(self, attempt: u32, own: Option<u32>) -> Standing {
        match self.max_receive_count {
            Some(max) if attempt == max => Standing::Last,
            _ if self.limit(own).is_some_and(|limit| attempt >= limit) => Standing::Beyond,
            Some(_) => Standing::More,
            None => Standing::Unknown,
        }
    }

    /// Whether a message whose attempt fails is not delivered again.
    pub(crate) fn end_with(self, attempt: u32, own: Option<u32>) -> bool {
        match self.standing(attempt, own) {
            Standing::Last => true,
            Standing::Beyond => self.has_dead_letter_queue,
            Standing::More | Standing::Unknown => false,
        }
    }
}
