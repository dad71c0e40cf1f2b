//! One mapping of a real queue: polls, batches and hands over, until it is stopped.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_sqs::types::MessageSystemAttributeName;
use redrive_sqs::LONGEST_POLL;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use uuid::Uuid;

use super::delete::{Deletion, delete};
use super::message::received;
use super::queue::{RemoteQueue, reason};
use super::{Function, Ids, Shared};
use crate::mapping::MappingConfig;
use crate::mapping::{self, Batch, Full};
use crate::queue::Received;
use crate::run::{EventKind, Finished, Invocation, Judgement};
use crate::runtime_api::{Line, Log};

/// How long a mapping leaves a queue alone that it could not poll.
const PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) struct Mapping {
    shared: Arc<Shared>,
    config: Arc<MappingConfig>,
    queue: Arc<RemoteQueue>,
    stop: watch::Receiver<bool>,
}

impl Mapping {
    pub(super) fn new(
        shared: Arc<Shared>,
        config: MappingConfig,
        queue: RemoteQueue,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self { shared, config: Arc::new(config), queue: Arc::new(queue), stop }
    }

    pub(super) async fn run(self) {
        let pollers = Arc::new(Semaphore::new(self.config.concurrency()));
        let mut batches = JoinSet::new();
        let mut batch = Batch::new();
        let mut stop = self.stop.clone();
        let next = async {
            while !self.function().pool().gave_up() {
                let poller = Arc::clone(&pollers).acquire_owned().await.expect("it is never closed");
                let full = self.fill(&mut batch).await;
                batches.spawn(self.clone().work(full, poller));
                while let Some(ended) = batches.try_join_next() {
                    proceed(ended);
                }
            }
        };
        tokio::select! {
            () = next => (),
            // The other end outlives this task.
            _ = stop.wait_for(|stop| *stop) => (),
        }
        while let Some(ended) = batches.join_next().await {
            proceed(ended);
        }
    }

    fn function(&self) -> &Function {
        &self.shared.functions[&self.config.function]
    }

    fn tell(&self, kind: EventKind) {
        self.shared.tally().tell(kind);
    }

    /// Polls until there is a batch to hand over.
    async fn fill(&self, batch: &mut Batch) -> Full {
        loop {
            let now = SystemTime::now();
            if let Some(full) = batch.take(&self.config, &self.queue.arn, now) {
                return full;
            }
            let due = batch.due(&self.config).map(|due| due.duration_since(now).unwrap_or_default());
            let messages = self.poll(batch.room(&self.config), due.unwrap_or(LONGEST_POLL)).await;
            let (wanted, unwanted) = mapping::filtered(messages, &self.config, &self.queue.arn);
            self.filter_out(&unwanted).await;
            batch.add(wanted, &self.queue.arn, SystemTime::now());
        }
    }

    async fn poll(&self, room: usize, wait: Duration) -> Vec<Received> {
        let call = self
            .shared
            .sqs
            .receive_message()
            .queue_url(&self.queue.url)
            .max_number_of_messages(room as i32)
            .wait_time_seconds(wait.min(LONGEST_POLL).as_secs_f64().ceil() as i32)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All);
        match call.send().await {
            Ok(output) => output.messages.unwrap_or_default().into_iter().filter_map(received).collect(),
            Err(error) => {
                self.failed("ReceiveMessage", &[reason(&error)]);
                tokio::time::sleep(PAUSE).await;
                Vec::new()
            }
        }
    }

    async fn filter_out(&self, messages: &[Received]) {
        let Deletion { deleted, failures } = self.delete(messages.iter()).await;
        for Received { message_id, receive_count: attempt, .. } in messages {
            if deleted.contains(message_id.as_str()) {
                let (queue, message_id) = (self.config.queue.clone(), message_id.clone());
                self.tell(EventKind::FilteredOut { queue, message_id, attempt: *attempt });
            }
        }
        self.failed("DeleteMessageBatch", &failures);
    }

    async fn delete<'m>(&self, messages: impl Iterator<Item = &'m Received>) -> Deletion<'m> {
        delete(&self.shared.sqs, &self.queue, &messages.collect::<Vec<_>>()).await
    }

    fn failed(&self, operation: &str, reasons: &[String]) {
        for reason in reasons {
            let (queue, operation) = (self.config.queue.clone(), operation.to_owned());
            self.tell(EventKind::CallFailed { queue, operation, reason: reason.clone() });
        }
    }

    /// Hands a batch to the function and acts on what it says.
    async fn work(self, full: Full, _poller: OwnedSemaphorePermit) {
        let Some(_room) = self.room(&full).await else { return };
        let finished = self.invoke(full.messages).await;
        self.settle(&finished).await;
        let mut pool = self.function().pool();
        if let Some(gave_up) = pool.end(finished) {
            self.tell(gave_up);
        }
    }

    /// Room in the function's concurrency, unless there is none until the messages are visible again.
    async fn room(&self, full: &Full) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.function().room);
        if let Ok(room) = Arc::clone(&room).try_acquire_owned() {
            return Some(room);
        }
        let (function, messages) = (self.config.function.clone(), full.messages.len());
        self.tell(EventKind::Throttled { function, messages });
        let hidden = (full.opened + self.queue.visibility_timeout).duration_since(SystemTime::now());
        let mut stop = self.stop.clone();
        tokio::select! {
            room = room.acquire_owned() => return Some(room.expect("it is never closed")),
            () = tokio::time::sleep(hidden.unwrap_or_default()) => (),
            _ = stop.wait_for(|stop| *stop) => (),
        }
        for Received { message_id, receive_count, .. } in &full.messages {
            let (queue, message_id) = (self.config.queue.clone(), message_id.clone());
            self.tell(EventKind::NotDelivered { queue, message_id, attempt: *receive_count });
        }
        None
    }

    async fn invoke(&self, messages: Vec<Received>) -> Finished {
        let request_id = Uuid::new_v4().to_string();
        EventKind::begun(&self.config, &request_id, &messages).for_each(|event| self.tell(event));
        let event = mapping::event(&messages, &self.queue.arn, |stamp| stamp);
        let (function, idle) = {
            let mut pool = self.function().pool();
            (Arc::clone(&pool.function), pool.begin())
        };
        let show = function.config.show_output;
        let mapping = self.clone();
        let log = Log::new(SystemTime::now(), move |_, line| {
            if let Line::Own(line) = line
                && show
            {
                mapping.tell(EventKind::Output { function: mapping.config.function.clone(), line });
            }
        });
        let running = self.shared.clock.running();
        let invocation = Invocation { mapping: 0, request_id, messages, _running: running };
        invocation.run(function, idle, event, log, self.stop.clone()).await
    }

    /// Deletes what succeeded. What failed is left alone.
    async fn settle(&self, finished: &Finished) {
        let Judgement { outcome, failed, ignored } = finished.judge(self.config.report_batch_item_failures);
        let messages = &finished.invocation.messages;
        let done = messages.iter().filter(|message| !failed.contains(message.message_id.as_str()));
        let Deletion { deleted, failures } = self.delete(done).await;
        self.tell(finished.event(&self.config, outcome, messages.len() - deleted.len()));
        self.failed("DeleteMessageBatch", &failures);
        self.tell_ends(messages, &deleted, &ignored);
    }

    fn tell_ends(&self, messages: &[Received], deleted: &Ids<'_>, ignored: &Ids<'_>) {
        for Received { message_id, receive_count: attempt, .. } in messages {
            let (queue, message_id, attempt) = (self.config.queue.clone(), message_id.clone(), *attempt);
            let [is_deleted, is_ignored] = [deleted, ignored].map(|ids| ids.contains(message_id.as_str()));
            self.tell(match (is_deleted, is_ignored) {
                (true, true) => EventKind::DeletedAlthoughFailed { queue, message_id, attempt },
                (true, false) => EventKind::Done { queue, message_id, attempt },
                (false, _) => EventKind::Failed { queue, message_id, attempt },
            });
        }
    }
}

/// A panic in a batch is one of the mapping.
fn proceed(ended: Result<(), JoinError>) {
    if let Err(panic) = ended.map_err(JoinError::try_into_panic) {
        std::panic::resume_unwind(panic.expect("no batch is aborted"));
    }
}
