//! All settings, as a table. Their fields and variables, and the methods of `Consumer` and `QueueSettings`, follow from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use redrive_engine::{Backoff, LastDelivery, OnFailure, Overrides};

use super::values::{
    Concurrency, Drain, Limit, LimitOfKey, Namespace, OutageHorizon, QueueUrl, ReceiveCount, Reserve,
    Senders, SlowTime, TimeLimit, VisibilityTimeout,
};
use super::variable::Fill;
use super::{InvalidSetting, Metrics};

/// Calls a macro with the rows. Each is the documentation, the variable, the method with its argument and the value of that, and the
/// type that checks it.
macro_rules! for_all_settings {
    ($macro:ident) => {
        $macro! {
            of_one_queue {
                /// The queue for messages that cannot succeed. Default: none; such messages are retried with a warning.
                ///
                /// A [worker](Self::work) uses the one in its queue's redrive policy.
                "REDRIVE_DEAD_LETTER_QUEUE_URL" dead_letter_queue_url(url: impl Into<String> => url.into()): QueueUrl;

                /// The queue's maxReceiveCount. Default: unknown, so no delivery is treated as the last.
                ///
                /// From 1 to 1,000. A [worker](Self::work) uses the one in its queue's redrive policy.
                "REDRIVE_MAX_RECEIVE_COUNT" max_receive_count(count: u32 => count): ReceiveCount;

                /// The queue's visibility timeout. Default: 30 s.
                ///
                /// At most 36,000 s. No delay is longer than 43,200 s minus this. A [worker](Self::work) requests it with each receive;
                /// its default is the queue's own.
                "REDRIVE_VISIBILITY_TIMEOUT" visibility_timeout(timeout: Duration => timeout): VisibilityTimeout;
            }
            of_each_queue {
                /// The maximum number of messages of a batch that run at the same time. Default: 10.
                ///
                /// From 1 to 10,000. If a process has several batches, as on Lambda Managed Instances, the limit applies to each. A
                /// [worker](Self::work) handles at most this many messages at a time.
                ///
                /// ```
                /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
                /// let consumer = redrive::Consumer::new(place).concurrency(5);
                /// ```
                "REDRIVE_CONCURRENCY" concurrency(messages: usize => messages): Concurrency;

                /// The time that the handler may take for one message. Default: the time left for the batch.
                ///
                /// At most 5,400 s. In a [worker](Self::work), the default is 12 hours from the receive. The time includes waiting inside
                /// the handler, for example for a permit or a pooled connection.
                "REDRIVE_TIME_LIMIT" time_limit(limit: Duration => limit): TimeLimit;

                /// The delays before failed messages are retried. Default: 2^attempt seconds.
                "REDRIVE_BACKOFF" backoff(backoff: Backoff => backoff): Backoff;

                /// The overrides that senders may set with the message attributes `redrive.backoff` and `redrive.max-attempts`. Default:
                /// fewer attempts and, on a standard queue, longer delays.
                ///
                /// The attempts are fewer than the queue's maxReceiveCount, and the delays longer than the consumer's.
                "REDRIVE_OVERRIDES" overrides(allowed: Overrides => allowed): Overrides;

                /// The senders that may set `redrive.origin`, and with it [`Message::key`](crate::Message::key): the unique ids of the IAM
                /// users and roles that run `redrive dlq retry`, or a `Relay` of `redrive-postgres`. Default: everyone who may send to the
                /// queue. A role's id covers all its sessions; anyone who may assume the role chooses the session name.
                ///
                /// An account's 12 digits cover its root user and its federated users. redrive removes the origin that any other sender set,
                /// and the key is then the message id. redrive rejects an empty variable, because it would trust everyone. Set this if the
                /// consumer has a store for [`once`](Self::once) without your own [key](Once::key). Otherwise, messages with an origin become
                /// dead letters (`origin-sender`).
                "REDRIVE_ORIGIN_SENDERS" origin_senders(ids: impl IntoIterator<Item = impl Into<String>> => OriginSenders::new(ids)): Senders;

                /// Dead-letters or retries a message whose handler panicked. Default: the dead-letter queue.
                ///
                /// A panic is a bug; choose [`OnFailure::Retry`] if handlers unwrap I/O errors. After the first panic, redrive retries
                /// further panics until a message succeeds. Under [`run`](Self::run), ten in a row end the process.
                "REDRIVE_ON_PANIC" on_panic(choice: OnFailure => choice): OnFailure;

                /// Dead-letters or retries a message whose body cannot be decoded. Default: the dead-letter queue.
                "REDRIVE_ON_MALFORMED" on_malformed(choice: OnFailure => choice): OnFailure;

                /// Chooses who dead-letters a message that failed on its last delivery: the queue's redrive policy, or redrive. Default:
                /// the redrive policy; on FIFO queues, redrive.
                ///
                /// On a FIFO queue, the group continues as soon as redrive has dead-lettered the message.
                "REDRIVE_LAST_DELIVERY" last_delivery(choice: LastDelivery => choice): LastDelivery;
            }
            of_the_process {
                /// The time for which redrive retries a message while a dependency is down, as far as the queue's maxReceiveCount allows.
                /// The queue must retain messages for longer. Default: 14,400 s (4 h), counted from the first receive.
                ///
                /// See [`Failure::outage`]. At most 1,209,600 s, the longest that [SQS retains a
                /// message](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html).
                "REDRIVE_OUTAGE_HORIZON" outage_horizon(horizon: Duration => horizon): OutageHorizon;

                /// The maximum number of messages that a worker starts per second, minute or hour. Default: as many as the concurrency
                /// allows. A Lambda function with a rate ends with an error.
                ///
                /// On Lambda, set `MaximumConcurrency` and `BatchSize` of the event source mapping instead. A [worker](Self::work) receives
                /// only as many messages as it may start. The others wait in the queue without using up deliveries. Each process has its own
                /// rate, unless workers [share](Self::share_rate) it.
                ///
                /// ```
                /// # async fn place(order: String) -> Result<(), redrive::Failure> { Ok(()) }
                /// use redrive::{Consumer, Rate};
                ///
                /// let consumer = Consumer::new(place).rate(Rate::per_second(50));
                /// ```
                "REDRIVE_RATE" rate(rate: Rate => rate): Limit;

                /// The time before the function's deadline at which redrive cancels handlers, so that it can still delay and dead-letter
                /// messages. Default: 10 % of the time left on arrival, from 500 ms to 5 s.
                ///
                /// At most 900 s. The reserve is at least 200 ms, and at most half of the time left.
                "REDRIVE_RESERVE" reserve(reserve: Duration => reserve): Reserve;

                /// The destination of the metrics. Default: `PutMetricData`, if there is a client for it.
                "REDRIVE_METRICS" metrics(metrics: Metrics => metrics): Metrics;

                /// The time that a worker's handlers have to finish after shutdown begins. Default: 25 s. The platform must wait 5 s longer
                /// before it kills the process.
                ///
                /// At most 3,600 s. The platform's time is `stopTimeout` on ECS and `terminationGracePeriodSeconds` on Kubernetes, both 30 s
                /// by default.
                "REDRIVE_DRAIN" drain(limit: Duration => limit): Drain;

                /// The address at which a worker serves `/livez`, `/readyz` and `/metrics` over HTTP. Default: none.
                ///
                /// In the variable, `:8080` without a host means all interfaces.
                "REDRIVE_HEALTH" health(address: SocketAddr => address): SocketAddr;

                /// Lets a worker handle fewer messages at a time while handlers take longer than this on average. Default: off.
                ///
                /// At most 5,400 s. On Lambda it has no effect. The worker starts with one message at a time, and doubles that up to the
                /// [`concurrency`](Self::concurrency) as long as handlers are faster. If they are slower, or more than one in ten has an
                /// outage or a timeout, it continues with 70 %, and then adds one at a time.
                "REDRIVE_ADAPTIVE_CONCURRENCY" adaptive_concurrency(slow: Duration => slow): SlowTime;
            }
            of_the_deployment {
                /// The namespace of the metrics, in which alarms look for them. Default: `Redrive`.
                "REDRIVE_METRICS_NAMESPACE" metrics_namespace: Namespace;

                /// Protects the ECS task of a worker from scale-in and deployments while it handles messages. Default: off.
                ///
                /// Outside ECS, redrive only logs a warning.
                /// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
                "REDRIVE_TASK_PROTECTION" task_protection: bool;
            }
        }
    };
}
pub(crate) use for_all_settings;

macro_rules! fields {
    (
        of_one_queue {$($(#[$one_doc:meta])* $one_variable:literal
            $one:ident($one_given:ident: $one_from:ty => $one_value:expr): $one_type:ty;)*}
        of_each_queue {$($(#[$each_doc:meta])* $each_variable:literal
            $each:ident($each_given:ident: $each_from:ty => $each_value:expr): $each_type:ty;)*}
        of_the_process {$($(#[$all_doc:meta])* $all_variable:literal
            $all:ident($all_given:ident: $all_from:ty => $all_value:expr): $all_type:ty;)*}
        of_the_deployment {$($(#[$own_doc:meta])* $own_variable:literal $own:ident: $own_type:ty;)*}
    ) => {
        /// Every setting; `None` if it is not set.
        #[derive(Debug, Clone, Default)]
        pub(crate) struct Settings {
            $(pub(crate) $one: Option<$one_type>,)*
            $(pub(crate) $each: Option<$each_type>,)*
            $(pub(crate) $all: Option<$all_type>,)*
            $(pub(crate) $own: Option<$own_type>,)*
            /// The rate of each key of `Consumer::rate_by`.
            pub(crate) rate_of_key: Option<LimitOfKey>,
            /// True if the process outlives a handler that ends, see `tools::outlives_handlers`.
            pub(crate) outlives_handlers: bool,
            /// The settings of each queue, by ARN. Empty if these settings are for any queue that feeds the function.
            pub(crate) queues: BTreeMap<String, Self>,
            /// The errors of values that the code has set, by the names of the settings.
            pub(crate) refused: BTreeMap<&'static str, InvalidSetting>,
        }

        /// The variables that apply to one queue only, and so never to the queues that `REDRIVE_QUEUES` names.
        pub const VARIABLES_OF_ONE_QUEUE: &[&str] = &[$($one_variable),*];

        /// The variables that may differ from queue to queue, and so be in `REDRIVE_QUEUES`.
        pub(crate) const VARIABLES_OF_QUEUES: &[&str] = &[$($one_variable,)* $($each_variable,)*];

        /// The variables of all settings.
        pub(crate) const VARIABLES: &[&str] = &[$($one_variable,)* $($each_variable,)* $($all_variable,)* $($own_variable,)*];

        impl Settings {
            /// Reads the settings that may differ from queue to queue.
            pub(super) fn fill_own(&mut self, fill: &Fill<'_>) -> Result<(), InvalidSetting> {
                $(fill.setting(&mut self.$one, $one_variable)?;)*
                $(fill.setting(&mut self.$each, $each_variable)?;)*
                Ok(())
            }

            /// Reads the others.
            pub(super) fn fill_others(&mut self, fill: &Fill<'_>) -> Result<(), InvalidSetting> {
                $(fill.setting(&mut self.$all, $all_variable)?;)*
                $(fill.setting(&mut self.$own, $own_variable)?;)*
                Ok(())
            }

            /// Completes the settings of a queue with those of the consumer, except for settings that apply to one queue only.
            pub(super) fn or(self, others: &Self) -> Self {
                Self {
                    $($each: self.$each.or_else(|| others.$each.clone()),)*
                    $($all: others.$all.clone(),)*
                    $($own: others.$own.clone(),)*
                    rate_of_key: others.rate_of_key.clone(),
                    outlives_handlers: others.outlives_handlers,
                    ..self
                }
            }

            /// Returns the variable of a setting that applies to one queue only, but is set for any queue that feeds the function.
            pub(crate) fn of_one_queue(&self) -> Option<&'static str> {
                let set = [$((self.$one.is_some(), $one_variable)),*];
                set.into_iter().find_map(|(is_set, variable)| is_set.then_some(variable))
            }
        }
    };
}

for_all_settings!(fields);
