//! The operations of CloudWatch in three protocols: Smithy RPC v2 CBOR of today's SDKs, AWS JSON 1.0, and the query protocol
//! of older SDKs.

mod alarm_history;
mod change_alarms;
mod describe_alarms;
mod get_metric_data;
mod get_metric_statistics;
mod list_metrics;
mod put_metric_alarm;
mod put_metric_data;
mod request;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use super::CloudWatch;
use super::body::plain;
use crate::protocol::{Query, SERIALIZATION, Service, UNKNOWN_OPERATION};

pub(crate) static SERVICE: Service<CloudWatch> = Service {
    name: "cloudwatch",
    operations: &[
        ("DeleteAlarms", change_alarms::delete),
        ("DescribeAlarmHistory", alarm_history::describe),
        ("DescribeAlarms", describe_alarms::describe),
        ("DescribeAlarmsForMetric", describe_alarms::of_metric),
        ("DisableAlarmActions", change_alarms::disable_actions),
        ("EnableAlarmActions", change_alarms::enable_actions),
        ("GetMetricData", get_metric_data::get),
        ("GetMetricStatistics", get_metric_statistics::get),
        ("ListMetrics", list_metrics::list),
        ("PutMetricAlarm", put_metric_alarm::put),
        ("PutMetricData", put_metric_data::put),
        ("SetAlarmState", change_alarms::set_state),
    ],
    target: Some(("GraniteServiceVersion20100801", "1.0")),
    query: Some(Query {
        version: "2010-08-01",
        namespace: "http://monitoring.amazonaws.com/doc/2010-08-01/",
        flat: false,
        lists: &[],
        maps: &[("ExtendedStatistics", "entry", "key")],
    }),
    routes: &[],
    unknown: (UNKNOWN_OPERATION, "redrive-local does not support the operation {} of CloudWatch"),
    unreadable: (SERIALIZATION, "the body is unreadable: {}"),
    body: plain,
};
