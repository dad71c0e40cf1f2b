//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarmHistory.html>

use serde::{Deserialize, Serialize};

use super::request::{Context, max_records};
use crate::cloudwatch::alarms::{HistoryItem, HistoryKind};
use crate::cloudwatch::error;
use crate::protocol::{Answer, List, Number, Stamp, Time, VALIDATION, page};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    alarm_name: Option<String>,
    #[serde(default)]
    alarm_types: List<String>,
    history_item_type: Option<String>,
    start_date: Option<Time>,
    end_date: Option<Time>,
    max_records: Option<Number>,
    next_token: Option<String>,
    scan_by: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    alarm_history_items: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Item {
    alarm_name: String,
    alarm_type: &'static str,
    timestamp: Stamp,
    history_item_type: &'static str,
    history_summary: String,
    history_data: String,
}

pub(super) fn describe(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    let kind = input.history_item_type.as_deref();
    let named = |kind| VALIDATION.one_of(kind, "historyItemType", &HistoryKind::ALL, HistoryKind::name);
    let kind = kind.map(named).transpose()?;
    let orders = ["TimestampDescending", "TimestampAscending"];
    let named = |order| VALIDATION.one_of(order, "scanBy", &orders, |name| name);
    let order = input.scan_by.as_deref().map(named).transpose()?;
    let (start, end) = (
        input.start_date.map(|date| context.simulated(date)),
        input.end_date.map(|date| context.simulated(date)),
    );
    let is_metric =
        input.alarm_types.0.is_empty() || input.alarm_types.0.iter().any(|kind| kind == "MetricAlarm");
    let matches = |item: &&HistoryItem| {
        is_metric
            && input.alarm_name.as_ref().is_none_or(|name| *name == item.alarm)
            && kind.is_none_or(|kind| kind == item.kind)
            && start.is_none_or(|start| start <= item.at)
            && end.is_none_or(|end| item.at <= end)
    };
    let mut items: Vec<_> = context.service.alarms.history().filter(matches).collect();
    if order == Some(orders[1]) {
        items.reverse();
    }
    let found = page(items, input.next_token.as_deref(), max_records(input.max_records)?, error::next_token)?;
    let items = found.items.into_iter().map(|item| Item {
        alarm_name: item.alarm.clone(),
        alarm_type: "MetricAlarm",
        timestamp: context.stamp(item.at),
        history_item_type: item.kind.name(),
        history_summary: item.summary.clone(),
        history_data: item.data.clone(),
    });
    context.output(&Output { alarm_history_items: items.collect(), next_token: found.next_token })
}
