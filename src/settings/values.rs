//! The values of settings. Each type checks its value when it is created.

use std::net::SocketAddr;
use std::ops::{Deref, RangeInclusive};
use std::time::Duration;

use redrive_engine::{Backoff, LastDelivery, OnFailure, Overrides, Rate, rate_refusal};
use redrive_sqs::{
    BATCH_SIZE, LONGEST_INVOCATION, MAX_RECEIVE_COUNT, MESSAGE_RETENTION_PERIOD, OriginSenders, Quoted,
    in_words,
};

use super::variable::{UNIQUE_ID, Variable};
use super::{InvalidSetting, Metrics};

pub(crate) trait Value: Sized {
    type Given;

    /// The name in errors of a value that the code has set.
    const NAME: &'static str;

    /// # Errors
    /// The value is not allowed; the error calls it `name`.
    fn new(name: &str, given: Self::Given) -> Result<Self, InvalidSetting>;

    fn read(variable: &Variable) -> Result<Self, InvalidSetting>;
}

macro_rules! values {
    ($($type:ident($given:ident: $from:ty as $to:ty) is $name:literal, $it:ident => $read:expr,
        if $is_allowed:expr, not $shown:expr => $allowed:expr;)*) => {$(
        #[derive(Debug, Clone)]
        pub(crate) struct $type($from);

        impl Value for $type {
            type Given = $from;

            const NAME: &'static str = $name;

            fn new(name: &str, $given: $from) -> Result<Self, InvalidSetting> {
                if $is_allowed { Ok(Self($given)) } else { Err(InvalidSetting::new(name, $shown, $allowed)) }
            }

            fn read($it: &Variable) -> Result<Self, InvalidSetting> {
                Self::new(&$it.name, $read)
            }
        }

        impl Deref for $type {
            type Target = $to;

            fn deref(&self) -> &$to {
                &self.0
            }
        }
    )*};
}

/// The longest visibility timeout. A longer one would leave too little of SQS's 12 hours for backoff.
pub(crate) const LONGEST_VISIBILITY_TIMEOUT: Duration = Duration::from_secs(36_000);
const LONGEST_TIME_LIMIT: Duration = Duration::from_secs(5_400);
const LONGEST_DRAIN: Duration = Duration::from_secs(3_600);
const LONGEST_RETENTION: Duration = Duration::from_secs(*MESSAGE_RETENTION_PERIOD.end());

values! {
    Concurrency(messages: usize as usize) is "concurrency", variable => variable.whole(&BATCH_SIZE)?,
        if is_in(messages, &BATCH_SIZE), not messages => in_words(&BATCH_SIZE);
    ChunkSize(messages: usize as usize) is "chunk size", variable => variable.whole(&BATCH_SIZE)?,
        if is_in(messages, &BATCH_SIZE), not messages => in_words(&BATCH_SIZE);
    ChunkBytes(bytes: usize as usize) is "chunk bytes", variable => variable.whole(&CHUNK_BYTES)?,
        if is_in(bytes, &CHUNK_BYTES), not bytes => in_words(&CHUNK_BYTES);
    ReceiveCount(count: u32 as u32) is "max receive count", variable => variable.whole(&MAX_RECEIVE_COUNT)?,
        if MAX_RECEIVE_COUNT.contains(&count), not count => in_words(&MAX_RECEIVE_COUNT);
    VisibilityTimeout(timeout: Duration as Duration) is "visibility timeout",
        variable => variable.seconds(LONGEST_VISIBILITY_TIMEOUT)?,
        if timeout <= LONGEST_VISIBILITY_TIMEOUT, not format!("{timeout:?}") => at_most("", LONGEST_VISIBILITY_TIMEOUT);
    TimeLimit(limit: Duration as Duration) is "time limit", variable => variable.seconds(LONGEST_TIME_LIMIT)?,
        if !limit.is_zero() && limit <= LONGEST_TIME_LIMIT,
        not format!("{limit:?}") => at_most("more than 0 s, ", LONGEST_TIME_LIMIT);
    SlowTime(time: Duration as Duration) is "adaptive concurrency", variable => variable.seconds(LONGEST_TIME_LIMIT)?,
        if !time.is_zero() && time <= LONGEST_TIME_LIMIT,
        not format!("{time:?}") => at_most("more than 0 s, ", LONGEST_TIME_LIMIT);
    Drain(limit: Duration as Duration) is "drain", variable => variable.seconds(LONGEST_DRAIN)?,
        if !limit.is_zero() && limit <= LONGEST_DRAIN,
        not format!("{limit:?}") => at_most("more than 0 s, ", LONGEST_DRAIN);
    Reserve(reserve: Duration as Duration) is "reserve", variable => variable.seconds(LONGEST_INVOCATION)?,
        if reserve <= LONGEST_INVOCATION, not format!("{reserve:?}") => at_most("", LONGEST_INVOCATION);
    OutageHorizon(horizon: Duration as Duration) is "outage horizon",
        variable => variable.seconds(LONGEST_RETENTION)?,
        if !horizon.is_zero() && horizon <= LONGEST_RETENTION,
        not format!("{horizon:?}") => at_most("more than 0 s, ", LONGEST_RETENTION);
    Limit(rate: Rate as Rate) is "rate", variable => variable.rate()?,
        if rate_refusal(&rate).is_none(), not rate => rate_refusal(&rate).unwrap_or_default();
    LimitOfKey(rate: Rate as Rate) is "rate of a key", variable => variable.rate()?,
        if rate_refusal(&rate).is_none(), not rate => rate_refusal(&rate).unwrap_or_default();
    QueueUrl(url: String as str) is "dead-letter queue URL", variable => variable.value.clone(),
        if is_queue_url(&url),
        not Quoted(&url) => "a queue URL such as https://sqs.eu-central-1.amazonaws.com/123456789012/orders-dead";
    Namespace(text: String as str) is "metrics namespace", variable => variable.value.clone(),
        if is_namespace(&text),
        not Quoted(&text) => "1 to 255 of A-Z a-z 0-9 . _ - / # : and space, not beginning with AWS/";
    Senders(ids: OriginSenders as OriginSenders) is "origin sender", variable => variable.senders()?,
        if ids.fault().is_none(), not Quoted(ids.fault().unwrap_or_default()) => UNIQUE_ID;
}

/// Values that are all allowed.
macro_rules! plain {
    ($($type:ty, $it:ident => $read:expr;)*) => {$(
        impl Value for $type {
            type Given = Self;

            const NAME: &'static str = stringify!($type);

            fn new(_: &str, given: Self) -> Result<Self, InvalidSetting> {
                Ok(given)
            }

            fn read($it: &Variable) -> Result<Self, InvalidSetting> {
                $read
            }
        }
    )*};
}

plain! {
    Backoff, variable => variable.backoff();
    Overrides, variable => variable.overrides();
    OnFailure, variable =>
        variable.one_of(&[("dead-letter", Self::DeadLetter), ("retry", Self::Retry)]);
    LastDelivery, variable =>
        variable.one_of(&[("redrive-policy", Self::RedrivePolicy), ("dead-letter", Self::DeadLetter)]);
    Metrics, variable =>
        variable.one_of(&[("cloudwatch", Self::CloudWatch), ("emf", Self::Emf), ("off", Self::Off)]);
    SocketAddr, variable => variable.address();
    bool, variable => variable.one_of(&[("on", true), ("off", false)]);
}

/// The allowed bytes of a bulk call: up to 10,000 bodies of 1 MiB do not fit into memory anyway.
const CHUNK_BYTES: RangeInclusive<u32> = 1..=u32::MAX;

fn is_in(number: usize, allowed: &RangeInclusive<u32>) -> bool {
    u32::try_from(number).is_ok_and(|number| allowed.contains(&number))
}

fn at_most(least: &str, most: Duration) -> String {
    format!("{least}at most {} s", most.as_secs())
}

fn is_queue_url(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| rest.split('/').filter(|part| !part.is_empty()).count() >= 2)
}

/// Returns true if [CloudWatch
/// accepts](https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html) it.
fn is_namespace(text: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-/#: ".contains(c);
    (1..=255).contains(&text.len()) && !text.starts_with("AWS/") && text.chars().all(legal)
}
