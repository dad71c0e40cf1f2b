//! A stack with the queue `orders`, a function, and an alarm on the letters.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_local::{
    AlarmConfig, Comparison, Config, FunctionConfig, MappingConfig, MissingData, StackConfig, StackOutput,
    Statistic,
};

use super::running::built;
use super::{ACCOUNT, Aws, orders};

impl Aws {
    /// The function `worker`, which is the puppet, and the stack `shop`.
    pub(crate) fn with_shop(mapping_is_enabled: bool) -> Self {
        let output = |key: &str, value: String| StackOutput { key: key.to_owned(), value, description: None };
        let url = |name: &str| format!("http://127.0.0.1/{ACCOUNT}/{name}");
        Self::of(Config {
            queues: orders(false),
            functions: vec![FunctionConfig {
                name: "worker".to_owned(),
                command: built("puppet"),
                timeout: Duration::from_secs(30),
                ..FunctionConfig::default()
            }],
            mappings: vec![MappingConfig {
                queue: "orders".to_owned(),
                function: "worker".to_owned(),
                batch_size: 7,
                maximum_concurrency: Some(3),
                enabled: mapping_is_enabled,
                ..MappingConfig::default()
            }],
            alarms: vec![alarm()],
            stack: Some(StackConfig {
                name: "shop".to_owned(),
                outputs: vec![
                    output("QueueUrl", url("orders")),
                    output("DeadLetterQueueUrl", url("orders-dead")),
                    output("FunctionName", "worker".to_owned()),
                ],
                ..StackConfig::default()
            }),
            ..Config::default()
        })
    }
}

fn alarm() -> AlarmConfig {
    AlarmConfig {
        name: "DeadLetter".to_owned(),
        description: None,
        namespace: "AWS/SQS".to_owned(),
        metric: "ApproximateNumberOfMessagesVisible".to_owned(),
        dimensions: BTreeMap::from([("QueueName".to_owned(), "orders-dead".to_owned())]),
        unit: None,
        statistic: Statistic::Maximum,
        period: Duration::from_secs(60),
        evaluation_periods: 1,
        datapoints_to_alarm: 1,
        threshold: 1.0,
        comparison: Comparison::GreaterThanOrEqualToThreshold,
        missing: MissingData::NotBreaching,
    }
}
