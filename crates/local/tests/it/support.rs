//! A shop: the queue `orders`, its dead-letter queue `orders-dead`, the function `worker`, and an alarm on the latter.

pub(crate) mod http;
pub(crate) mod sdk;

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{
    AlarmConfig, Config, Event, EventKind, FunctionConfig, InvocationOutcome, Local, MappingConfig,
    NewMessage, QueueConfig, Speed, Statistic, Totals,
};

pub(crate) const ACCOUNT: &str = "123456789012";

/// Returns the shop: visibility timeout 30 s, three deliveries, function timeout 1 s, batches of ten.
pub(crate) fn shop(speed: Speed) -> Config {
    let policy = format!(
        "{{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-west-1:{ACCOUNT}:orders-dead\",\"maxReceiveCount\":3}}"
    );
    let attributes = [("VisibilityTimeout".into(), "30".into()), ("RedrivePolicy".into(), policy)];
    Config {
        region: "eu-west-1".into(),
        account: ACCOUNT.into(),
        queues: vec![
            QueueConfig { name: "orders".into(), attributes: attributes.into() },
            QueueConfig { name: "orders-dead".into(), attributes: BTreeMap::new() },
        ],
        functions: vec![FunctionConfig {
            name: "worker".into(),
            command: env!("CARGO_BIN_EXE_puppet").into(),
            timeout: Duration::from_secs(1),
            show_output: true,
            ..FunctionConfig::default()
        }],
        mappings: vec![MappingConfig {
            queue: "orders".into(),
            function: "worker".into(),
            report_batch_item_failures: true,
            ..MappingConfig::default()
        }],
        alarms: vec![alarm(
            "DeadLetter",
            "AWS/SQS",
            "ApproximateNumberOfMessagesVisible",
            Some("orders-dead"),
        )],
        speed,
        ..Config::default()
    }
}

/// Returns an alarm that goes off when the metric's maximum in a minute is 1 or more.
pub(crate) fn alarm(name: &str, namespace: &str, metric: &str, queue: Option<&str>) -> AlarmConfig {
    let dimensions = queue.map(|queue| ("QueueName", queue));
    AlarmConfig {
        name: name.into(),
        statistic: Statistic::Maximum,
        ..AlarmConfig::sum_of(namespace, metric, dimensions)
    }
}

/// The events until everything was idle again.
pub(crate) struct History {
    pub(crate) events: Vec<Event>,
    pub(crate) totals: Totals,
    names: BTreeMap<String, String>,
}

/// Sends messages with these bodies to `orders`, waits until they are done, and stops.
pub(crate) async fn run(config: Config, bodies: &[&str]) -> History {
    run_all(config, bodies.iter().map(|body| ("orders", message(body)))).await
}

/// Sends messages to their queues, waits until they are done, and stops.
pub(crate) async fn run_all<'a>(
    config: Config,
    messages: impl IntoIterator<Item = (&'a str, NewMessage)>,
) -> History {
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    let mut names = BTreeMap::new();
    for (queue, message) in messages {
        let body = message.body.clone();
        names.insert(local.send(queue, message).unwrap(), body);
    }
    tokio::time::timeout(Duration::from_secs(60), local.until_idle()).await.expect("it comes to rest");
    let totals = local.stop().await;
    let mut all = Vec::new();
    while let Some(event) = events.recv().await {
        all.push(event);
    }
    History { events: all, totals, names }
}

/// Returns the shop with FIFO queues.
pub(crate) fn fifo_shop(speed: Speed) -> Config {
    let mut config = shop(speed);
    for queue in &mut config.queues {
        queue.name.push_str(".fifo");
        queue.attributes.insert("FifoQueue".into(), "true".into());
        if let Some(policy) = queue.attributes.get_mut("RedrivePolicy") {
            *policy = policy.replace("orders-dead", "orders-dead.fifo");
        }
    }
    config.mappings[0].queue.push_str(".fifo");
    config
}

/// Returns a message of a group. Messages with the same body are duplicates.
pub(crate) fn in_group(group: &str, body: &str) -> NewMessage {
    let deduplication_id = Some(format!("{group}-{}", body.replace(' ', "-")));
    NewMessage { group_id: Some(group.into()), deduplication_id, ..message(body) }
}

pub(crate) fn message(body: &str) -> NewMessage {
    NewMessage { body: body.into(), ..NewMessage::default() }
}

impl History {
    /// Returns the events of the messages with this body, abbreviated and without times.
    pub(crate) fn of(&self, body: &str) -> Vec<String> {
        let is = |id: &String| self.names.get(id).is_some_and(|name| name == body);
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::Received { message_id, attempt, .. } if is(message_id) => {
                    Some(format!("attempt {attempt}"))
                }
                EventKind::BackIn { message_id, .. } if is(message_id) => Some("back".into()),
                EventKind::Failed { message_id, attempt, .. } if is(message_id) => {
                    Some(format!("failed {attempt}"))
                }
                EventKind::Released { message_id, attempt, .. } if is(message_id) => {
                    Some(format!("released {attempt}"))
                }
                EventKind::Done { message_id, .. } if is(message_id) => Some("done".into()),
                EventKind::DeletedAlthoughFailed { message_id, .. } if is(message_id) => Some("lost".into()),
                EventKind::FilteredOut { message_id, attempt, .. } if is(message_id) => {
                    Some(format!("filtered out {attempt}"))
                }
                EventKind::NotDelivered { message_id, attempt, .. } if is(message_id) => {
                    Some(format!("not delivered {attempt}"))
                }
                EventKind::DeadLettered { message_id, reason, .. } if is(message_id) => {
                    Some(format!("dead: {reason}"))
                }
                _ => None,
            })
            .collect()
    }

    /// Returns the reported seconds until messages return.
    pub(crate) fn back_in(&self) -> Vec<u64> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::BackIn { seconds, .. } => Some(*seconds),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn body(&self, message_id: &str) -> &str {
        &self.names[message_id]
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &EventKind> {
        self.events.iter().map(|event| &event.kind)
    }

    pub(crate) fn outcomes(&self) -> Vec<&InvocationOutcome> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::InvocationEnded { outcome, .. } => Some(outcome),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn lines(&self) -> Vec<&str> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::Output { line, .. } => Some(line.as_str()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn alarms(&self) -> Vec<String> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::Alarm { name, state, .. } => Some(format!("{name} {state}")),
                _ => None,
            })
            .collect()
    }
}
