//! Creates, changes and describes queues.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{OwnedQueue, Sqs};
use crate::protocol::AwsError;
use crate::queue::{Queue, Settings, error};

/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html>
const AFTER_DELETION: Duration = Duration::from_secs(60);

impl Sqs {
    /// Creates a queue with attributes by SQS's names, such as `"VisibilityTimeout"` -> `"480"`. Its dead-letter queue must
    /// already exist. Creating a queue again changes nothing.
    ///
    /// # Errors
    /// Returns an error if SQS refuses the name or an attribute, or if the queue exists with a different value of a given
    /// attribute.
    pub fn create(
        &mut self,
        name: &str,
        attributes: &BTreeMap<String, String>,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let settings = Settings::new(name, attributes)?;
        if let Some(entry) = self.entries.get_mut(name) {
            entry.queue.access();
            return check_equal(entry.queue.settings(), &settings, attributes);
        }
        self.check_not_just_deleted(name, now)?;
        if let Some(policy) = &settings.redrive_policy {
            self.check_redrive(name, settings.fifo, policy)?;
        }
        let queue = Queue::new(name, settings);
        let entry = OwnedQueue { queue, tags: BTreeMap::new(), created_at: now, modified_at: now };
        self.entries.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Lets a deleted queue be created again at once.
    pub(crate) fn forget_deleted(&mut self, name: &str) {
        self.deleted.remove(name);
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Deletes a queue with its messages immediately.
    pub(crate) fn delete_queue(&mut self, queue: &str, now: SystemTime) -> Result<(), AwsError> {
        self.advance(now);
        self.entries.remove(queue).ok_or_else(error::no_such_queue)?;
        self.moves.forget(queue);
        self.deleted.insert(queue.to_owned(), now);
        Ok(())
    }

    fn check_not_just_deleted(&mut self, name: &str, now: SystemTime) -> Result<(), AwsError> {
        self.deleted.retain(|_, deleted_at| now < *deleted_at + AFTER_DELETION);
        if self.deleted.contains_key(name) {
            let message = "You must wait 60 seconds after deleting a queue before you can create another with the same name.";
            return Err(error::QUEUE_DELETED_RECENTLY.error(message));
        }
        Ok(())
    }

    /// Changes the given attributes immediately. An empty value removes an attribute.
    pub(crate) fn set_attributes(
        &mut self,
        queue: &str,
        attributes: &BTreeMap<String, String>,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let settings = self.entry(queue)?.queue.settings().changed(attributes)?;
        self.configure(queue, settings, attributes, now)
    }

    /// Gives all other attributes their defaults, as a template does from which they were removed.
    pub(crate) fn replace_attributes(
        &mut self,
        queue: &str,
        attributes: &BTreeMap<String, String>,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let settings = Settings::new(queue, attributes)?;
        self.configure(queue, settings, attributes, now)
    }

    fn configure(
        &mut self,
        queue: &str,
        settings: Settings,
        given: &BTreeMap<String, String>,
        now: SystemTime,
    ) -> Result<(), AwsError> {
        let policy = settings.redrive_policy.as_ref().filter(|_| given.contains_key("RedrivePolicy"));
        if let Some(policy) = policy {
            self.check_redrive(queue, settings.fifo, policy)?;
        }
        // What was due until now happens by the former settings, whether or not a call has noticed it.
        self.advance(now);
        self.with(queue, |queue| {
            queue.catch_up(now);
            queue.set(settings);
            Ok(())
        })?;
        self.entry_mut(queue)?.modified_at = now;
        Ok(())
    }

    /// Returns all attributes by SQS's names.
    pub(crate) fn attributes(
        &self,
        queue: &str,
        now: SystemTime,
    ) -> Result<BTreeMap<String, String>, AwsError> {
        let entry = self.entry(queue)?;
        let counts = self.counts(queue, now).unwrap_or_default();
        let mut attributes = entry.queue.settings().attributes();
        let known = [
            ("QueueArn", self.arn(queue)),
            ("ApproximateNumberOfMessages", counts.visible.to_string()),
            ("ApproximateNumberOfMessagesNotVisible", counts.in_flight.to_string()),
            ("ApproximateNumberOfMessagesDelayed", counts.delayed.to_string()),
            ("CreatedTimestamp", epoch_seconds(entry.created_at)),
            ("LastModifiedTimestamp", epoch_seconds(entry.modified_at)),
        ];
        attributes.extend(known.map(|(name, value)| (name.to_owned(), value)));
        Ok(attributes)
    }

    pub(crate) fn tags(&self, queue: &str) -> Result<&BTreeMap<String, String>, AwsError> {
        self.entry(queue).map(|entry| &entry.tags)
    }

    pub(crate) fn tags_mut(&mut self, queue: &str) -> Result<&mut BTreeMap<String, String>, AwsError> {
        self.entry_mut(queue).map(|entry| &mut entry.tags)
    }
}

fn check_equal(
    existing: &Settings,
    wanted: &Settings,
    given: &BTreeMap<String, String>,
) -> Result<(), AwsError> {
    let (existing, wanted) = (existing.attributes(), wanted.attributes());
    match given.keys().find(|name| existing.get(*name) != wanted.get(*name)) {
        None => Ok(()),
        Some(name) => Err(error::QUEUE_NAME_EXISTS.error(format!(
            "A queue already exists with the same name and a different value for attribute {name}"
        ))),
    }
}

fn epoch_seconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().to_string()
}
