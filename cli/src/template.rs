//! SAM and CloudFormation templates: from the file's text to what redrive-local runs.
//!
//! Three pure steps: `document` reads YAML or JSON, `resolve` works out parameters, conditions and functions, `read`
//! makes queues, functions, mappings and alarms of the resources.

mod document;
mod parameters;
mod properties;
mod read;
mod resolve;

pub(crate) use document::{Node, TemplateError, parse};
pub(crate) use read::{Build, Stack, with_globals};
pub(crate) use resolve::{Resolver, Resource, Surroundings};

/// Reads a whole template. Given values go before the defaults of its parameters.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub(crate) fn read(
    source: &str,
    given: &[(String, String)],
    surroundings: &Surroundings,
) -> Result<Stack, TemplateError> {
    let document = document::parse(source)?;
    read::stack(&resolve::Resolver::new(&document, given, surroundings)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use redrive_local::{AlarmConfig, Comparison, MissingData, Statistic};
    use serde_json::{Value, json};

    use super::*;

    const OURS: &str = include_str!("../../template.yaml");

    pub(super) fn surroundings() -> Surroundings {
        Surroundings {
            region: "us-east-1".to_owned(),
            account: "000000000000".to_owned(),
            stack: "local".to_owned(),
            endpoint: "http://127.0.0.1:0".to_owned(),
            names: BTreeMap::new(),
        }
    }

    pub(super) fn stack_of(source: &str) -> Stack {
        read(source, &[], &surroundings()).unwrap()
    }

    pub(super) fn error_of(source: &str) -> String {
        read(source, &[], &surroundings()).unwrap_err().to_string()
    }

    fn ours(parameters: &[(&str, &str)]) -> Result<Stack, TemplateError> {
        let given: Vec<_> =
            parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        read(OURS, &given, &surroundings())
    }

    fn attributes(stack: &Stack, queue: &str) -> BTreeMap<String, Value> {
        let found = stack.queues.iter().find(|candidate| candidate.name == queue).unwrap();
        let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.into());
        found.attributes.iter().map(|(name, value)| (name.clone(), parsed(value))).collect()
    }

    fn alarm<'a>(stack: &'a Stack, name: &str) -> Option<&'a AlarmConfig> {
        stack.alarms.iter().find(|alarm| alarm.name == format!("local-{name}"))
    }

    #[test]
    fn our_queues_are_as_designed() {
        let stack = ours(&[]).unwrap();
        let source = attributes(&stack, "local-orders");
        let policy = json!({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:local-orders-dead", "maxReceiveCount": 10});
        assert_eq!(source["RedrivePolicy"], policy);
        assert_eq!(source["VisibilityTimeout"], json!(480));
        let dead = attributes(&stack, "local-orders-dead");
        let allowed = json!({"redrivePermission": "byQueue", "sourceQueueArns": ["arn:aws:sqs:us-east-1:000000000000:local-orders"]});
        assert_eq!(dead["RedriveAllowPolicy"], allowed);
        assert!(dead["MessageRetentionPeriod"].as_u64() > source["MessageRetentionPeriod"].as_u64());
        assert!(!dead.contains_key("RedrivePolicy"));
    }

    #[test]
    fn our_function_knows_its_queue() {
        let stack = ours(&[("MaxReceiveCount", "7"), ("FunctionTimeout", "60")]).unwrap();
        let [function] = &stack.functions[..] else { panic!("expected one function") };
        let variable = |name: &str| function.environment[name].as_str();
        assert_eq!(variable("REDRIVE_MAX_RECEIVE_COUNT"), "7");
        assert_eq!(variable("REDRIVE_VISIBILITY_TIMEOUT"), "660");
        let url = "http://127.0.0.1:0/000000000000/local-orders-dead";
        assert_eq!(variable("REDRIVE_DEAD_LETTER_QUEUE_URL"), url);
        assert_eq!(
            (function.timeout, stack.builds[0].binary.as_deref()),
            (Duration::from_secs(60), Some("orders"))
        );
        assert!(stack.mappings[0].report_batch_item_failures);
    }

    #[test]
    fn the_visibility_timeout_is_six_times_the_timeout_and_the_longest_window() {
        for timeout in [3_u64, 10, 30, 60, 120, 300, 600, 900] {
            let stack = ours(&[("FunctionTimeout", &timeout.to_string())]).unwrap();
            assert_eq!(attributes(&stack, "local-orders")["VisibilityTimeout"], json!(6 * timeout + 300));
        }
        let refused = ours(&[("FunctionTimeout", "31")]).unwrap_err().message;
        assert_eq!(refused, "FunctionTimeout is \"31\", allowed: 3, 10, 30, 60, 120, 300, 600, 900");
    }

    #[test]
    fn the_dead_letter_alarm_goes_off_at_one_letter_after_one_minute() {
        let stack = ours(&[]).unwrap();
        let alarm = alarm(&stack, "DeadLetter").unwrap();
        assert_eq!(
            (alarm.namespace.as_str(), alarm.metric.as_str()),
            ("AWS/SQS", "ApproximateNumberOfMessagesVisible")
        );
        assert_eq!(alarm.dimensions["QueueName"], "local-orders-dead");
        assert_eq!(
            (alarm.statistic, alarm.comparison),
            (Statistic::Maximum, Comparison::GreaterThanOrEqualToThreshold)
        );
        assert_eq!((alarm.threshold, alarm.missing), (1.0, MissingData::NotBreaching));
        let minute = Duration::from_secs(60);
        assert_eq!((alarm.period, alarm.evaluation_periods, alarm.datapoints_to_alarm), (minute, 1, 1));
    }

    #[test]
    fn alarms_can_be_switched_off_and_follow_the_metrics() {
        let names = |parameters: &[(&str, &str)]| -> Vec<String> {
            ours(parameters)
                .unwrap()
                .alarms
                .into_iter()
                .map(|alarm| alarm.name.replace("local-", ""))
                .collect()
        };
        let always = ["Throttles", "FunctionErrors", "QueueAge"];
        assert_eq!(names(&[]), [&["DeadLetter", "DeadLettered", "WorkerErrors"][..], &always].concat());
        assert_eq!(names(&[("AlarmOnDeadLetters", "false")]), [&["WorkerErrors"][..], &always].concat());
        assert_eq!(names(&[("Metrics", "off")]), [&["DeadLetter"][..], &always].concat());
        let stack = ours(&[("ErrorThreshold", "3")]).unwrap();
        let errors = alarm(&stack, "WorkerErrors").unwrap();
        assert_eq!(
            (errors.namespace.as_str(), errors.dimensions["QueueName"].as_str()),
            ("Redrive", "local-orders")
        );
        assert_eq!((errors.threshold, errors.comparison), (3.0, Comparison::GreaterThanThreshold));
    }

    #[test]
    fn both_queues_are_fifo_or_none_is() {
        let stack = ours(&[("Fifo", "true")]).unwrap();
        assert_eq!(attributes(&stack, "local-orders.fifo")["FifoQueue"], json!(true));
        assert_eq!(attributes(&stack, "local-orders-dead.fifo")["FifoQueue"], json!(true));
        assert!(!attributes(&ours(&[]).unwrap(), "local-orders").contains_key("FifoQueue"));
    }

    #[test]
    fn batches_that_lambda_would_refuse_are_refused_by_the_rules() {
        for (parameters, message) in [
            (&[("BatchSize", "11")][..], "A BatchSize above 10 needs a BatchingWindow of at least 1 second."),
            (
                &[("BatchSize", "11"), ("BatchingWindow", "1"), ("Fifo", "true")],
                "A FIFO queue has batches of at most 10.",
            ),
            (&[("BatchingWindow", "1"), ("Fifo", "true")], "A FIFO queue has no BatchingWindow."),
        ] {
            assert_eq!(ours(parameters).unwrap_err().message, message);
        }
        assert!(ours(&[("BatchSize", "11"), ("BatchingWindow", "1")]).is_ok());
    }
}
