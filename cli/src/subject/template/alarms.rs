//! `AWS::CloudWatch::Alarm`.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html>

use std::collections::BTreeMap;

use super::super::{Alarm, Metric, Seen};
use super::actions;
use super::look::{Look, Notes};
use crate::template::{Node, Resolver, Resource};

pub(super) fn read(resolver: &Resolver<'_>, document: &Node, notes: &Notes) -> Vec<Alarm> {
    let (resources, unknown) = resolver.resources_known(&["AWS::CloudWatch::Alarm"]);
    notes.add_all(unknown);
    let raw = |id: &str| document.get("Resources")?.get(id)?.get("Properties")?.get("AlarmActions");
    resources.iter().map(|resource| alarm(resource, raw(&resource.id), document, notes)).collect()
}

fn alarm(resource: &Resource, raw_actions: Option<&Node>, document: &Node, notes: &Notes) -> Alarm {
    let look = Look::at(resource, notes);
    let text = |name: &str| look.text(name).there().cloned();
    let periods = look.number("EvaluationPeriods").there().copied();
    let statistic = text("Statistic").or_else(|| text("ExtendedStatistic"));
    Alarm {
        name: resource.name.clone(),
        metric: metric(look),
        statistic: statistic.unwrap_or_default(),
        period: look.seconds("Period").there().copied(),
        evaluation_periods: periods,
        datapoints_to_alarm: match look.number("DatapointsToAlarm") {
            Seen::There(points) => Some(points),
            Seen::Absent => periods,
            Seen::Unknown => None,
        },
        threshold: look.number("Threshold").there().copied(),
        comparison: text("ComparisonOperator").unwrap_or_default(),
        missing_data: look.text("TreatMissingData").or("missing".to_owned()).unwrap_or_default(),
        actions: actions::read(look, raw_actions, document),
        actions_enabled: look.flag("ActionsEnabled").or(true).unwrap_or(true),
        line: Some(resource.line),
        id: resource.id.clone(),
    }
}

fn metric(look: Look<'_>) -> Option<Metric> {
    if let Seen::There(_) = look.part("Metrics") {
        look.notes.add(format!("the metric math of {}", look.id));
        return None;
    }
    let mut dimensions = BTreeMap::new();
    if let Seen::There(list) = look.part("Dimensions") {
        for item in list.items() {
            let dimension = Look { node: item, ..look };
            let (Seen::There(name), Seen::There(value)) = (dimension.text("Name"), dimension.text("Value"))
            else {
                return None;
            };
            dimensions.insert(name, value);
        }
    }
    let (Seen::There(namespace), Seen::There(name)) = (look.text("Namespace"), look.text("MetricName"))
    else {
        return None;
    };
    Some(Metric { namespace, name, dimensions })
}
