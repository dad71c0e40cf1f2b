//! The event source mapping: passes batches of a queue to a function, and deletes the messages that succeeded.

mod run;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

pub(super) use run::waiting;

use super::{Queue, clock};
use crate::account::Delivery;
use crate::mapping::{Capacity, Filter, MappingConfig, Poller, Step, check};
use crate::run::InvocationOutcome;

/// A queue that invokes a function. It does so only while one of its methods is awaited.
#[must_use = "a mapping invokes its function only while it is awaited"]
pub struct Mapping<'function> {
    poller: Poller,
    invoker: Invoker<'function>,
}

/// The data that an invocation needs.
struct Invoker<'function> {
    queue: Queue,
    timeout: Duration,
    /// The mapping's index in Lambda's API, after its first run.
    index: Option<usize>,
    function: Box<Function<'function>>,
}

type Function<'function> = dyn Fn(Vec<u8>, Instant) -> Answer<'function> + 'function;
type Answer<'function> = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + 'function>>;

/// One invocation of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Invocation {
    /// Start, in time since the account was created.
    pub at: Duration,
    /// Duration.
    pub took: Duration,
    /// Ids of its messages, in order.
    pub messages: Vec<String>,
    /// Ids of the messages that stay in the queue.
    pub failed: Vec<String>,
    /// Outcome.
    pub outcome: InvocationOutcome,
}

impl Queue {
    /// Maps this queue to a function, which gets an event and its deadline, and returns a batch response. The event can be
    /// any type that serde can read from JSON, and the response any type that it can write: the types of `aws_lambda_events`,
    /// or `serde_json::Value`.
    ///
    /// By default a batch has up to 10 messages and does not wait to fill, up to 5 invocations run at a time, and the
    /// function's timeout is 30 s. Lambda's API lists the mapping from its first run on, with the queue's name as the
    /// function's. As on AWS, the messages that the response reports as failed (`ReportBatchItemFailures`) stay in the queue
    /// until their visibility timeout ends. The whole batch stays if the function returns an error, times out, or returns
    /// something other than a batch response. A panic of the function ends the test.
    ///
    /// ```
    /// use redrive_local::kit::TestAws;
    /// use serde_json::{Value, json};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
    /// let queue = TestAws::new().queue("orders").dead_letter_queue("orders-dead", 2).create();
    /// let (fine, poison) = (queue.send("tea"), queue.send("poison"));
    ///
    /// let function = async |event: Value, _| {
    ///     let records = event["Records"].as_array().ok_or("an event has records")?;
    ///     let failed = records.iter().filter(|record| record["body"] == "poison");
    ///     let failed: Vec<_> = failed.map(|record| json!({ "itemIdentifier": record["messageId"] })).collect();
    ///     Ok::<_, &str>(json!({ "batchItemFailures": failed }))
    /// };
    /// let invocations = queue.invokes(function).until_idle().await;
    /// assert_eq!(invocations.len(), 2);
    /// assert_eq!((fine.done().attempts, poison.dead_letter().attempts), (1, 2));
    /// # });
    /// ```
    pub fn invokes<'function, E, R, X>(
        &self,
        function: impl AsyncFn(E, Instant) -> Result<R, X> + 'function,
    ) -> Mapping<'function>
    where
        E: DeserializeOwned + 'function,
        R: Serialize + 'function,
        X: fmt::Display + 'function,
    {
        let function = Rc::new(function);
        let function = move |event: Vec<u8>, deadline| -> Answer<'function> {
            let function = Rc::clone(&function);
            Box::pin(async move {
                let event = serde_json::from_slice(&event).map_err(|error| format!("the event: {error}"))?;
                let response = function(event, deadline).await.map_err(|error| error.to_string())?;
                serde_json::to_vec(&response).map_err(|error| format!("the response: {error}"))
            })
        };
        let config = MappingConfig {
            queue: self.name.clone(),
            function: self.name.trim_end_matches(".fifo").to_owned(),
            report_batch_item_failures: true,
            ..MappingConfig::default()
        };
        Mapping {
            poller: Poller::new(config, self.aws.with(|account, _| account.queue_arn(&self.name))),
            invoker: Invoker {
                queue: self.clone(),
                timeout: Duration::from_secs(30),
                index: None,
                function: Box::new(function),
            },
        }
    }
}

impl Mapping<'_> {
    /// Sets the most messages in a batch: 10 by default, 1 to 10,000. More than 10 require a window.
    pub fn batch_size(mut self, messages: usize) -> Self {
        self.poller.config.batch_size = messages;
        self
    }

    /// Sets how long a batch waits to fill: not at all by default, at most 300 s. A FIFO queue cannot have a window.
    pub fn batching_window(mut self, window: Duration) -> Self {
        self.poller.config.window = window;
        self
    }

    /// Sets the most invocations at a time: 5 by default.
    pub fn maximum_concurrency(mut self, invocations: usize) -> Self {
        self.poller.config.maximum_concurrency = Some(invocations);
        self
    }

    /// Sets the function's timeout, which determines its deadline: 30 s by default, at most the queue's visibility timeout.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.invoker.timeout = timeout;
        self
    }

    /// Adds a filter: a message that matches none of them is deleted without an invocation.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.poller.config.filters.push(filter);
        self
    }

    /// Sets whether the function's response names the messages that failed (`ReportBatchItemFailures`). By default it does.
    /// Without this, any response deletes the whole batch.
    pub fn report_batch_item_failures(mut self, reports: bool) -> Self {
        self.poller.config.report_batch_item_failures = reports;
        self
    }

    /// Runs until the queue is empty and no invocation runs.
    ///
    /// # Panics
    /// Panics after more than 30 days or 10,000 invocations, if AWS would refuse the mapping, or if the test's
    /// runtime has several threads.
    pub async fn until_idle(&mut self) -> Vec<Invocation> {
        self.run(None).await
    }

    /// Runs for this time, and until the invocations that run then have ended.
    ///
    /// # Panics
    /// Panics as [`until_idle`](Self::until_idle) does.
    pub async fn run_for(&mut self, time: Duration) -> Vec<Invocation> {
        self.run(Some(Instant::now() + time)).await
    }

    /// Invokes the function once, with the messages that can be received now.
    ///
    /// # Panics
    /// Panics if no messages can be received, or if AWS would refuse the mapping.
    pub async fn once(&mut self) -> Invocation {
        self.begin();
        let Self { poller, invoker } = self;
        let window = std::mem::take(&mut poller.config.window);
        let delivery = invoker.poll(poller);
        poller.config.window = window;
        let Queue { name, .. } = &invoker.queue;
        let Some(delivery) = delivery else {
            panic!("queue {name} has no message that can be received: {}", waiting(&invoker.queue))
        };
        let invocation = invoker.invoke(delivery, poller.config.report_batch_item_failures).await;
        poller.end();
        invocation
    }

    fn begin(&mut self) {
        let Self { poller, invoker: Invoker { queue, timeout, index, .. } } = self;
        // The future of an earlier run may have been dropped.
        poller.abandon();
        let visibility = queue.aws.with(|account, _| account.visibility_timeout(&queue.name));
        if let Err(refusal) = check(&poller.config, visibility.unwrap_or_default(), *timeout) {
            panic!("{refusal}");
        }
        index.get_or_insert_with(|| queue.aws.with(|account, now| account.lambda.add(&poller.config, now)));
    }
}

impl Invoker<'_> {
    fn poll(&self, poller: &mut Poller) -> Option<Delivery> {
        let Queue { name, aws, .. } = &self.queue;
        self.apply_changes(poller);
        aws.with(|account, now| match account.poll(poller, Capacity::Room, now) {
            Ok(Some(Step::Invoke(messages))) => Some(account.delivery(name, messages)),
            Ok(Some(Step::Throttle(_) | Step::GiveUp(_)) | None) => None,
            Err(refusal) => panic!("queue {name}: {refusal}"),
        })
    }

    /// Applies the changes that clients made through Lambda's API.
    fn apply_changes(&self, poller: &mut Poller) {
        let Some(index) = self.index else { return };
        self.queue.aws.with(|account, now| {
            let mapping = &account.lambda.mappings()[index];
            let window = poller.config.window;
            poller.config = MappingConfig { window, ..mapping.config.clone() };
            if mapping.config.enabled || (!poller.config.enabled && poller.is_drained()) {
                account.lambda.settled(index, now);
            }
        });
    }

    async fn invoke(&self, delivery: Delivery, reports: bool) -> Invocation {
        let aws = &self.queue.aws;
        let (at, began) = (aws.elapsed(), Instant::now());
        let handling = clock::Handling::begin();
        let answer = (self.function)(delivery.event().to_vec(), began + self.timeout);
        let answer = timeout(self.timeout, answer).await;
        drop(handling);
        let settled = match answer {
            Err(_elapsed) => Err(InvocationOutcome::TimedOut),
            Ok(Err(error)) => Err(InvocationOutcome::Error(error)),
            Ok(Ok(response)) => {
                let response = if reports { response } else { Vec::new() };
                aws.with(|account, now| account.settle(&delivery, &response, now))
                    .map_err(InvocationOutcome::BadResponse)
            }
        };
        let (deleted, outcome) = match settled {
            Ok(deleted) => (deleted, InvocationOutcome::Succeeded),
            Err(outcome) => (Vec::new(), outcome),
        };
        let messages: Vec<_> = delivery.ids().map(str::to_owned).collect();
        let failed = messages.iter().filter(|id| !deleted.contains(id)).cloned().collect();
        for id in &messages {
            let outcomes = &mut aws.state().failed_invocations;
            match &outcome {
                InvocationOutcome::Succeeded => outcomes.remove(id),
                failure => outcomes.insert(id.clone(), failure.clone()),
            };
        }
        Invocation { at, took: began.elapsed(), messages, failed, outcome }
    }
}

impl fmt::Debug for Mapping<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping").field("config", &self.poller.config).finish_non_exhaustive()
    }
}
