//! Checks for known ways to lose or delay messages, grouped by component.

mod alarm_link;
mod alarm_metric;
mod alarm_missing_data;
mod concurrency;
mod dead_letter_alarm;
mod dead_letter_queue;
mod drift;
mod fifo;
mod filter;
mod grace_period;
mod idempotency;
mod layer;
mod limits;
mod mapping;
mod panic;
mod permissions;
mod probes;
mod queue_policy;
mod recursion;
mod redrive_policy;
mod retention;
mod retries;
mod scaling;
mod sharing;
mod value;
mod variables;
mod visibility;

use super::finding::Check;

/// All checks, in the order of reports and documentation.
pub(crate) const ALL: [&Check; 72] = [
    &mapping::BATCH_RESPONSE_MISSING,
    &mapping::MAPPING_WITHOUT_QUEUE,
    &mapping::MAPPING_DISABLED,
    &value::VALUE_REFUSED,
    &mapping::BATCH_SIZE_REFUSED,
    &mapping::QUEUE_SHARED,
    &filter::FILTER_DELETES,
    &filter::FILTER_REFUSED,
    &filter::FILTER_UNDOCUMENTED,
    &visibility::VISIBILITY_BELOW_TIMEOUT,
    &visibility::VISIBILITY_TOO_SHORT,
    &visibility::LEASE_SHORT,
    &visibility::IDEMPOTENCY_LEASE,
    &redrive_policy::REDRIVE_POLICY_MISSING,
    &redrive_policy::MAX_RECEIVE_COUNT_LOW,
    &retries::RETRIES_OUTLIVE_RETENTION,
    &retention::RETENTION_SHORT,
    &limits::RETRY_LIMITS_UNUSED,
    &dead_letter_queue::DEAD_LETTER_RETENTION,
    &dead_letter_queue::DEAD_LETTER_SIZE,
    &dead_letter_queue::DEAD_LETTER_QUEUE_KIND,
    &dead_letter_queue::DEAD_LETTER_QUEUE_ELSEWHERE,
    &dead_letter_queue::DEAD_LETTER_QUEUE_REDRIVES,
    &dead_letter_queue::ALLOW_POLICY_REFUSES,
    &queue_policy::QUEUE_POLICY_OPEN,
    &queue_policy::QUEUE_POLICY_REFUSES,
    &dead_letter_queue::FUNCTION_DEAD_LETTER_QUEUE,
    &recursion::DEAD_LETTERS_RETURN,
    &recursion::SENDS_TO_OWN_SOURCE,
    &concurrency::RESERVED_BELOW_MAXIMUM,
    &concurrency::RESERVED_WITHOUT_MAXIMUM,
    &concurrency::MAXIMUM_CONCURRENCY_REFUSED,
    &concurrency::POLLERS_REFUSED,
    &concurrency::MANAGED_INSTANCES_THROTTLE,
    &fifo::FIFO_BATCHING_WINDOW,
    &fifo::FIFO_BATCH_USES_DELIVERIES,
    &sharing::SETTINGS_SHARED,
    &variables::MAX_RECEIVE_COUNT_DIFFERS,
    &variables::MAX_RECEIVE_COUNT_UNKNOWN,
    &variables::DEAD_LETTER_URL_DIFFERS,
    &variables::DEAD_LETTER_URL_MISSING,
    &variables::VISIBILITY_VARIABLE_DIFFERS,
    &variables::SETTING_REFUSED,
    &variables::SETTING_UNKNOWN,
    &layer::LAYER_NEVER_RUNS,
    &permissions::PERMISSION_POLL,
    &permissions::PERMISSION_CHANGE_VISIBILITY,
    &permissions::PERMISSION_SEND_DEAD_LETTERS,
    &permissions::PERMISSION_PUT_METRICS,
    &permissions::PERMISSION_KEY,
    &permissions::PERMISSION_TASK_PROTECTION,
    &permissions::PERMISSION_IDEMPOTENCY,
    &idempotency::IDEMPOTENCY_KEY,
    &idempotency::IDEMPOTENCY_TTL,
    &idempotency::IDEMPOTENCY_RETENTION,
    &grace_period::GRACE_PERIOD_SHORT,
    &probes::PROBE_FAILS,
    &probes::PROBE_WITHOUT_HEALTH,
    &probes::PROBES_MISSING,
    &scaling::SCALES_ON_IN_FLIGHT,
    &dead_letter_alarm::DEAD_LETTER_ALARM_MISSING,
    &dead_letter_alarm::DEAD_LETTER_ALARM_METRIC,
    &dead_letter_alarm::DEAD_LETTER_ALARM_THRESHOLD,
    &alarm_metric::ALARM_WITHOUT_ACTION,
    &alarm_metric::ALARM_METRIC_UNKNOWN,
    &alarm_metric::ALARM_NAMESPACE,
    &alarm_metric::ALARM_DIMENSION,
    &alarm_metric::ALARM_METRICS_OFF,
    &alarm_missing_data::ALARM_MISSING_DATA,
    &alarm_link::ALARM_LINK_RELATIVE,
    &panic::PANIC_ABORT,
    &drift::STACK_DRIFTS,
];
