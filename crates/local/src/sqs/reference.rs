//! A second implementation of SQS, as simple as possible: lists, and a loop over all of them for every question. It has a
//! queue, its dead-letter queue, and whole seconds.

/// Receives before a message moves, and retention of both queues in seconds.
pub(super) const LIMIT: u32 = 2;
pub(super) const RETENTION: [u64; 2] = [200, 400];
pub(super) const VISIBILITY: u64 = 30;
pub(super) const FIFO_DELAY: u64 = 3;

/// Indexes of the queue and its dead-letter queue.
pub(super) const SOURCE: usize = 0;
pub(super) const DEAD: usize = 1;

#[derive(Debug, Clone)]
struct Message {
    name: u64,
    group: u8,
    /// The message's position in its queue.
    order: u64,
    kept_since: u64,
    visible_from: u64,
    receives: u32,
    received_at: u64,
    /// True if the message was received, and no change of its timeout has shown it since.
    touched: bool,
}

/// One receive of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receipt {
    pub(super) queue: usize,
    pub(super) name: u64,
    pub(super) receive: u32,
}

/// Received messages by name, with their receive counts.
pub(super) type Got = Vec<(u64, u32)>;

#[derive(Debug, Default)]
pub(super) struct Reference {
    fifo: bool,
    pub(super) now: u64,
    queues: [Vec<Message>; 2],
    purged_at: [Option<u64>; 2],
    /// Time, deduplication id, and message of each send.
    sends: Vec<(u64, u8, u64)>,
    /// Time, queue, attempt id, and messages of each receive.
    attempts: Vec<(u64, usize, u8, Got)>,
    names: u64,
    orders: u64,
}

impl Reference {
    pub(super) fn new(fifo: bool) -> Self {
        Self { fifo, ..Self::default() }
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        self.now += seconds;
        let now = self.now;
        for (queue, retention) in self.queues.iter_mut().zip(RETENTION) {
            queue.retain(|message| now < message.kept_since + retention);
        }
    }

    /// Returns the numbers of visible and hidden messages.
    pub(super) fn counts(&self, queue: usize) -> (usize, usize) {
        let visible = self.queues[queue].iter().filter(|message| message.visible_from <= self.now).count();
        (visible, self.queues[queue].len() - visible)
    }

    pub(super) fn send(&mut self, group: u8, duplicate: u8, delay: u64) -> u64 {
        if self.fifo {
            for (time, id, name) in &self.sends {
                if *id == duplicate && self.now < time + 300 {
                    return *name;
                }
            }
        }
        let delay = if self.fifo { FIFO_DELAY } else { delay };
        self.names += 1;
        self.orders += 1;
        self.sends.push((self.now, duplicate, self.names));
        self.queues[SOURCE].push(Message {
            name: self.names,
            group,
            order: self.orders,
            kept_since: self.now,
            visible_from: self.now + delay,
            receives: 0,
            received_at: 0,
            touched: false,
        });
        self.names
    }

    pub(super) fn receive(&mut self, queue: usize, max: usize, timeout: u64, attempt: Option<u8>) -> Got {
        if let Some(got) = attempt.and_then(|id| self.received_before(queue, id)) {
            for message in &mut self.queues[queue] {
                if got.contains(&(message.name, message.receives)) {
                    message.visible_from = self.now + timeout;
                }
            }
            return got;
        }
        let mut got = Got::new();
        let mut taken = Vec::new();
        loop {
            let next = self.next(queue, max - got.len(), &taken);
            if next.is_empty() {
                break;
            }
            for name in next {
                let index = self.queues[queue].iter().position(|message| message.name == name).unwrap();
                if queue == SOURCE && self.queues[queue][index].receives >= LIMIT {
                    let mut letter = self.queues[queue].remove(index);
                    self.orders += 1;
                    letter.order = self.orders;
                    letter.visible_from = self.now;
                    if self.fifo {
                        letter.kept_since = self.now;
                    }
                    self.queues[DEAD].push(letter);
                    continue;
                }
                let message = &mut self.queues[queue][index];
                message.receives += 1;
                message.received_at = self.now;
                message.visible_from = self.now + timeout;
                message.touched = false;
                got.push((name, message.receives));
                taken.push(name);
            }
        }
        self.pass(0);
        if let Some(id) = attempt.filter(|_| !got.is_empty()) {
            self.attempts.push((self.now, queue, id, got.clone()));
        }
        got
    }

    fn received_before(&self, queue: usize, id: u8) -> Option<Got> {
        let latest = self.attempts.iter().rev().find(|attempt| attempt.1 == queue && attempt.2 == id)?;
        let is_untouched = |(name, receives): &(u64, u32)| {
            self.queues[queue].iter().any(|message| {
                message.name == *name
                    && message.receives == *receives
                    && message.visible_from > self.now
                    && !message.touched
            })
        };
        (self.now < latest.0 + 300 && latest.3.iter().all(is_untouched)).then(|| latest.3.clone())
    }

    /// Returns the next messages: of a FIFO queue all of one group, from its first one up to a hidden one.
    fn next(&self, queue: usize, max: usize, taken: &[u64]) -> Vec<u64> {
        let visible = |message: &&Message| message.visible_from <= self.now && !taken.contains(&message.name);
        let mut messages: Vec<_> = self.queues[queue].iter().collect();
        messages.sort_by_key(|message| message.order);
        if self.fifo {
            let mut best: Option<Vec<&Message>> = None;
            for group in 0..=u8::MAX {
                let group = messages.iter().copied().filter(|message| message.group == group);
                let run: Vec<_> = group.take_while(visible).collect();
                let turn = |run: &[&Message]| run.first().map(|first| (first.visible_from, first.order));
                if !run.is_empty() && best.as_ref().is_none_or(|best| turn(&run) < turn(best)) {
                    best = Some(run);
                }
            }
            messages = best.unwrap_or_default();
        } else {
            messages.retain(visible);
            messages.sort_by_key(|message| (message.visible_from, message.order));
        }
        messages.iter().map(|message| message.name).take(max).collect()
    }

    /// Returns true if the call was accepted.
    pub(super) fn change(&mut self, receipt: Receipt, timeout: u64) -> bool {
        let (fifo, now) = (self.fifo, self.now);
        let Some(message) = self.held(receipt) else { return false };
        let is_held = message.receives == receipt.receive && message.visible_from > now;
        if (fifo && !is_held) || timeout + (now - message.received_at) >= 43_200 {
            return false;
        }
        message.visible_from = now + timeout;
        message.touched = true;
        true
    }

    /// Returns true if the call was accepted.
    pub(super) fn delete(&mut self, receipt: Receipt) -> bool {
        let (fifo, now) = (self.fifo, self.now);
        let Some(message) = self.held(receipt) else { return true };
        let is_latest = message.receives == receipt.receive;
        let is_held = is_latest && message.visible_from > now;
        if is_held || (is_latest && !fifo) {
            self.queues[receipt.queue].retain(|message| message.name != receipt.name);
        }
        is_held || !fifo
    }

    fn held(&mut self, receipt: Receipt) -> Option<&mut Message> {
        self.queues[receipt.queue].iter_mut().find(|message| message.name == receipt.name)
    }

    /// Returns true if the call was accepted.
    pub(super) fn purge(&mut self, queue: usize) -> bool {
        if self.purged_at[queue].is_some_and(|purged_at| self.now < purged_at + 60) {
            return false;
        }
        self.purged_at[queue] = Some(self.now);
        self.queues[queue].clear();
        self.attempts.retain(|attempt| attempt.1 != queue);
        if queue == SOURCE {
            self.sends.clear();
        }
        true
    }
}
