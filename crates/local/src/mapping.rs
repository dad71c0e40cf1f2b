//! The rules of the event source mapping: its allowed settings, its filters, how it forms batches, and the messages that a
//! response deletes.
//!
//! Nothing here waits or makes calls. Time and messages are arguments.

mod batch;
mod config;
mod filter;
mod poller;
mod record;
mod response;

use std::time::Duration;

use redrive_sqs::{BATCH_SIZE, MAXIMUM_CONCURRENCY};

pub use config::MappingConfig;
pub use filter::{Filter, InvalidFilter};
pub(crate) use poller::{Capacity, Poller, Step};
pub(crate) use record::event;
use record::{record, record_size};
pub use response::{failed_messages, settle};

use crate::queue::Received;

/// Most filters of a mapping, without a raised quota.
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html>
pub(crate) const MOST_FILTERS: usize = 5;

/// Checks a mapping as AWS does when it is created.
/// <https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html>
///
/// # Errors
/// Returns the wrong setting and the allowed values.
pub(crate) fn check(
    mapping: &MappingConfig,
    visibility_timeout: Duration,
    function_timeout: Duration,
) -> Result<(), String> {
    let MappingConfig { queue, function, batch_size, window, maximum_concurrency, filters, .. } = mapping;
    let subject = format!("mapping of queue {queue} to function {function}");
    let fifo = redrive_sqs::is_fifo(queue);
    let largest = *BATCH_SIZE.end() as usize;
    if !(1..=largest).contains(batch_size) || (fifo && *batch_size > 10) {
        let allowed = if fifo { "10 on a FIFO queue".to_owned() } else { largest.to_string() };
        return Err(format!("{subject}: batch size {batch_size} is not between 1 and {allowed}"));
    }
    if *window > Duration::from_secs(300) || (fifo && !window.is_zero()) {
        let allowed = if fifo { "0 s, as it must be on a FIFO queue" } else { "between 0 and 300 s" };
        return Err(format!("{subject}: batching window {window:?} is not {allowed}"));
    }
    if *batch_size > 10 && *window < Duration::from_secs(1) {
        return Err(format!(
            "{subject}: batch size {batch_size} is above 10, which needs a batching window of 1 s"
        ));
    }
    let highest = *MAXIMUM_CONCURRENCY.end() as usize;
    if let Some(most) = maximum_concurrency.filter(|most| !(1..=highest).contains(most)) {
        return Err(format!("{subject}: maximum concurrency {most} is not between 1 and {highest}"));
    }
    if filters.len() > MOST_FILTERS {
        return Err(format!("{subject}: {} filters, allowed: at most {MOST_FILTERS}", filters.len()));
    }
    if visibility_timeout < function_timeout {
        return Err(format!(
            "{subject}: queue visibility timeout: {} seconds is less than function timeout: {} seconds",
            visibility_timeout.as_secs(),
            function_timeout.as_secs()
        ));
    }
    Ok(())
}

/// Returns warnings about settings that AWS accepts but advises against or does not document.
pub(crate) fn warnings(
    mapping: &MappingConfig,
    visibility_timeout: Duration,
    function_timeout: Duration,
) -> Vec<String> {
    let MappingConfig { queue, function, window, filters, .. } = mapping;
    let mut warnings = Vec::new();
    // <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
    if !mapping.report_batch_item_failures {
        warnings.push(format!(
            "function {function}: a message that it reports as failed is deleted: add FunctionResponseTypes: \
             [ReportBatchItemFailures] to its mapping of queue {queue}"
        ));
    }
    // <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
    let recommended = 6 * function_timeout + *window;
    if visibility_timeout < recommended {
        warnings.push(format!(
            "queue {queue}: visibility timeout {} s is below the recommended {} s, six times the timeout of function \
             {function} and the batching window",
            visibility_timeout.as_secs(),
            recommended.as_secs(),
        ));
    }
    if let Some(field) = filters.iter().find_map(Filter::field_beside_body) {
        warnings.push(format!(
            "mapping of queue {queue} to function {function}: a filter uses {field}, but AWS documents \
             filters of SQS messages on the body only"
        ));
    }
    warnings
}

/// Splits messages into those that pass the filters, and those that do not.
pub(crate) fn filtered(
    messages: Vec<Received>,
    mapping: &MappingConfig,
    queue_arn: &str,
) -> (Vec<Received>, Vec<Received>) {
    if mapping.filters.is_empty() {
        return (messages, Vec::new());
    }
    messages.into_iter().partition(|message| {
        let event = filter::Event::new(&record(message, queue_arn), &message.body);
        mapping.filters.iter().any(|filter| filter.matches(&event))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    pub(crate) const ARN: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";
    const NOW: SystemTime = UNIX_EPOCH;

    pub(crate) fn mapping(batch_size: usize, window: u64) -> MappingConfig {
        MappingConfig {
            queue: "orders".into(),
            function: "worker".into(),
            batch_size,
            window: Duration::from_secs(window),
            report_batch_item_failures: true,
            ..MappingConfig::default()
        }
    }

    pub(crate) fn received(id: &str, body: &str) -> Received {
        Received {
            message_id: id.into(),
            receipt_handle: format!("handle-{id}"),
            body: body.into(),
            md5_of_body: "d41d8cd98f00b204e9800998ecf8427e".into(),
            md5_of_attributes: None,
            attributes: BTreeMap::new(),
            receive_count: 1,
            sent_at: NOW + Duration::from_millis(1_700_000_000_123),
            first_received_at: NOW + Duration::from_millis(1_700_000_001_456),
            sender_id: "AIDASENDER".into(),
            group_id: None,
            deduplication_id: None,
            sequence_number: None,
            trace_header: None,
            dead_letter_source: None,
        }
    }

    #[test]
    fn mappings_that_aws_refuses_are_refused() {
        let filter: Filter = r#"{"body": ["tea"]}"#.parse().unwrap();
        let filters = |count| MappingConfig { filters: vec![filter.clone(); count], ..mapping(10, 0) };
        let fifo = |mapping| MappingConfig { queue: "orders.fifo".into(), ..mapping };
        let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
        for (mapping, visibility, refusal) in [
            (mapping(0, 0), minute, Some("batch size 0 is not between 1 and 10000")),
            (mapping(10_001, 1), minute, Some("batch size 10001 is not between 1 and 10000")),
            (fifo(mapping(11, 0)), minute, Some("batch size 11 is not between 1 and 10 on a FIFO queue")),
            (mapping(11, 0), minute, Some("batch size 11 is above 10, which needs a batching window of 1 s")),
            (mapping(10, 301), minute, Some("batching window 301s is not between 0 and 300 s")),
            (
                fifo(mapping(10, 1)),
                minute,
                Some("batching window 1s is not 0 s, as it must be on a FIFO queue"),
            ),
            (
                mapping(10, 0),
                second,
                Some("queue visibility timeout: 1 seconds is less than function timeout: 10 seconds"),
            ),
            (
                MappingConfig { maximum_concurrency: Some(1_001), ..mapping(10, 0) },
                minute,
                Some("maximum concurrency 1001 is not between 1 and 1000"),
            ),
            (filters(6), minute, Some("6 filters, allowed: at most 5")),
            (filters(5), minute, None),
            (mapping(10_000, 300), minute, None),
            (fifo(mapping(10, 0)), 10 * second, None),
        ] {
            let result = check(&mapping, visibility, 10 * second);
            assert_eq!(result.as_ref().err().map(|text| text.split_once(": ").unwrap().1), refusal);
        }
    }

    #[test]
    fn a_mapping_that_deletes_what_failed_is_warned_about() {
        let warned = MappingConfig { report_batch_item_failures: false, ..mapping(10, 0) };
        let [minute, second] = [60, 1].map(Duration::from_secs);
        assert_eq!(
            warnings(&warned, minute, second),
            ["function worker: a message that it reports as failed is deleted: add FunctionResponseTypes: \
                 [ReportBatchItemFailures] to its mapping of queue orders"]
        );
        assert!(warnings(&mapping(10, 0), minute, second).is_empty());
    }

    #[test]
    fn a_visibility_timeout_below_six_function_timeouts_is_warned_about() {
        let warnings = |visibility| {
            warnings(&mapping(10, 5), Duration::from_secs(visibility), Duration::from_secs(10)).len()
        };
        assert_eq!((warnings(64), warnings(65)), (1, 0));
    }

    #[test]
    fn a_message_is_wanted_if_one_of_the_filters_matches_it_or_there_is_none() {
        let filter = |pattern: &str| pattern.parse::<Filter>().unwrap();
        let filters = vec![
            filter(r#"{"body": {"kind": ["gift"]}}"#),
            filter(r#"{"attributes": {"MessageGroupId": ["vip"]}}"#),
        ];
        let message = |id: &str, body: &str, group: Option<&str>| Received {
            group_id: group.map(str::to_owned),
            ..received(id, body)
        };
        let messages = vec![
            message("m1", r#"{"kind": "gift"}"#, None),
            message("m2", r#"{"kind": "loan"}"#, None),
            message("m3", r#"{"kind": "loan"}"#, Some("vip")),
            message("m4", "gift", None),
        ];
        let ids = |messages: Vec<Received>| messages.into_iter().map(|m| m.message_id).collect::<Vec<_>>();
        let all = filtered(messages.clone(), &mapping(10, 0), ARN);
        assert_eq!((ids(all.0).len(), ids(all.1).len()), (4, 0));
        let mapping = MappingConfig { filters, ..mapping(10, 0) };
        let (wanted, unwanted) = filtered(messages, &mapping, ARN);
        assert_eq!(
            (ids(wanted), ids(unwanted)),
            (vec!["m1".into(), "m3".into()], vec!["m2".into(), "m4".into()])
        );
        let warning = warnings(&mapping, Duration::MAX, Duration::ZERO).remove(0);
        assert!(warning.contains("a filter uses attributes, but"), "{warning}");
    }
}
