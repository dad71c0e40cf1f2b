//! `AWS::CloudWatch::Alarm`.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html>

use std::collections::{BTreeMap, HashSet};

use super::super::{Alarm, Function, Mapping, Metric, Queue, Seen};
use super::look::{Look, Notes};
use crate::{Node, Resolver, Resource};

const MATH: &str = "only alarms on a single metric are checked";

/// Reads the alarms, and returns true if these are all.
pub(super) fn read(resolver: &Resolver<'_>, notes: &Notes) -> (Vec<Alarm>, bool) {
    let document = resolver.document();
    let (resources, mut unknown) = resolver.resources(&["AWS::CloudWatch::Alarm"]);
    let properties = |id: &str| document.get("Resources")?.get(id)?.get("Properties");
    unknown.retain(|alarm| properties(&alarm.id).is_none_or(may_concern_a_queue));
    let all = unknown.is_empty();
    let others = Notes::default();
    notes.add_all(&unknown);
    let read = |resource: &Resource| {
        let notes = if may_concern_a_queue(&resource.properties) { notes } else { &others };
        let actions = properties(&resource.id).and_then(|properties| properties.get("AlarmActions"));
        alarm(resource, actions, document, notes)
    };
    let mut alarms: Vec<Alarm> = resources.iter().map(read).collect();
    // A composite alarm may notify for the alarms in its rule. The template does not tell when.
    let (composites, unknown) = resolver.resources(&["AWS::CloudWatch::CompositeAlarm"]);
    let is_unknown = !unknown.is_empty();
    notes.add_all(&unknown);
    let rules: Vec<Seen<String>> =
        composites.iter().map(|composite| Look::at(composite, notes).text("AlarmRule")).collect();
    for alarm in &mut alarms {
        let contains_alarm =
            |rule: &Seen<String>| rule.there().is_none_or(|rule| rule.contains(alarm.name.as_str()));
        if is_unknown || rules.iter().any(contains_alarm) {
            (alarm.actions, alarm.actions_enabled) = (Seen::Unknown, true);
        }
    }
    let is_silent =
        |alarm: &Alarm| alarm.actions.there().is_some_and(Vec::is_empty) || !alarm.actions_enabled;
    if alarms.iter().any(is_silent) {
        let acting = named_by_others(resolver);
        for alarm in alarms.iter_mut().filter(|it| acting.contains(&it.id) || acting.contains(&it.name)) {
            (alarm.actions, alarm.actions_enabled) = (Seen::Unknown, true);
        }
    }
    (alarms, all)
}

/// Types that name an alarm without acting on it.
const SHOWING: [&str; 3] = ["AWS::CloudWatch::", "AWS::IAM::", "AWS::SSM::Parameter"];

/// Returns the logical ids and names in other resources. An alarm on which one of these acts, such as a deployment that is rolled
/// back, does not need actions.
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-alarm-failure.html>
fn named_by_others(resolver: &Resolver<'_>) -> HashSet<String> {
    let mut named = HashSet::new();
    let resources = resolver.document().get("Resources");
    for (id, kind) in resolver.kinds() {
        let properties = resources.and_then(|it| it.get(id)?.get("Properties"));
        let Some(properties) = properties.filter(|_| !SHOWING.iter().any(|it| kind.starts_with(it))) else {
            continue;
        };
        references(properties, &mut named);
        if let Some(worked_out) = resolver.value(properties) {
            references(&worked_out, &mut named);
        }
    }
    named
}

/// Finds all texts, the resources that functions name, and the names in ARNs of alarms.
pub(super) fn references(node: &Node, found: &mut HashSet<String>) {
    if let Some(text) = node.as_text() {
        let in_text = text.split("${").skip(1).filter_map(|rest| rest.split(['.', '}']).next());
        found.extend(in_text.map(str::to_owned));
        found.extend(text.split_once(":alarm:").map(|(_, name)| name.to_owned()));
        found.insert(text.strip_suffix(".Arn").unwrap_or(text).to_owned());
    }
    node.entries().iter().for_each(|(_, value)| references(value, found));
    node.as_list().unwrap_or_default().iter().for_each(|item| references(item, found));
}

/// Returns true unless an alarm watches only metrics of AWS's other services.
pub(super) fn may_concern_a_queue(properties: &Node) -> bool {
    let is_others = |metric: &Node| {
        let namespace = metric.text_at("Namespace").unwrap_or_default();
        namespace.starts_with("AWS/") && !["AWS/Lambda", "AWS/SQS"].contains(&namespace)
    };
    let queries = properties.items_at("Metrics");
    let mut metrics = queries.iter().filter_map(|query| query.get("MetricStat")?.get("Metric")).peekable();
    match metrics.peek() {
        Some(_) => !metrics.all(is_others),
        None => !is_others(properties),
    }
}

fn alarm(resource: &Resource, raw_actions: Option<&Node>, document: &Node, notes: &Notes) -> Alarm {
    let look = Look::at(resource, notes);
    let text = |name: &str| look.text(name).there().cloned();
    let periods = look.number("EvaluationPeriods").there().copied();
    let statistic = text("Statistic").or_else(|| text("ExtendedStatistic"));
    Alarm {
        name: resource.name.clone(),
        // No message is lost by an unknown description, hence no note.
        description: resource.properties.text_at("AlarmDescription").unwrap_or_default().to_owned(),
        metric: metric(look),
        may_be_of_a_queue: may_be_of_a_queue(look),
        math: math(look),
        statistic: statistic.unwrap_or_default(),
        period: look.seconds("Period").there().copied(),
        evaluation_periods: periods,
        datapoints_to_alarm: match look.number("DatapointsToAlarm") {
            Seen::Absent => periods,
            points => points.there().copied(),
        },
        threshold: look.number("Threshold").there().copied(),
        comparison: text("ComparisonOperator").unwrap_or_default(),
        missing_data: look.text("TreatMissingData").or("missing".to_owned()).unwrap_or_default(),
        actions: actions(look, raw_actions, document),
        actions_enabled: look.flag("ActionsEnabled").or(true).unwrap_or(true),
        line: Some(resource.line),
        id: resource.id.clone(),
    }
}

/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-cloudwatch-alarm-metricdataquery.html>
fn math(look: Look<'_>) -> Seen<Vec<Metric>> {
    let Seen::There(queries) = look.part("Metrics") else { return Seen::Absent };
    let mut metrics = Vec::new();
    for query in queries.items() {
        let stat = query.get("MetricStat").and_then(|stat| stat.get("Metric"));
        let found = match (stat, query.text_at("Expression")) {
            (Some(node), _) => one(Look { node, ..look }),
            (None, Some(expression)) if !may_find_queues(expression) => continue,
            (None, _) => None,
        };
        match found {
            Some(found) => metrics.push(found),
            None if stat.is_some_and(|node| !may_be_of_a_queue(Look { node, ..look })) => {}
            None => return Seen::Unknown,
        }
    }
    Seen::There(metrics)
}

/// Returns true if it searches for metrics, and not only in namespaces of other services.
fn may_find_queues(expression: &str) -> bool {
    let is_elsewhere = expression.contains("AWS/") && !expression.contains("AWS/SQS");
    Metric::are_found_by(expression) && !is_elsewhere
}

/// Returns true if an alarm may watch one of the queues, or a function that a queue feeds.
pub(super) fn may_concern(
    alarm: &Alarm,
    queues: &[Queue],
    functions: &[Function],
    mappings: &[Mapping],
) -> bool {
    let Seen::There(metrics) = &alarm.math else { return true };
    let named = |metric: &Metric, dimension: &str, is_it: &dyn Fn(&str) -> bool| {
        metric.dimensions.get(dimension).is_some_and(|name| is_it(name))
    };
    let is_fed = |name: &str| {
        let mut fed = mappings.iter().filter_map(|mapping| mapping.function.as_deref());
        functions.iter().any(|function| function.name == name) && fed.any(|function| function == name)
    };
    metrics.iter().any(|metric| {
        named(metric, "QueueName", &|name| queues.iter().any(|queue| queue.name() == name))
            || named(metric, "FunctionName", &is_fed)
    })
}

/// Returns true if it may watch a queue, judging by its namespace.
fn may_be_of_a_queue(look: Look<'_>) -> bool {
    look.node.get("Namespace").is_none_or(|namespace| namespace.as_text().is_none_or(|it| it == "AWS/SQS"))
}

fn metric(look: Look<'_>) -> Option<Metric> {
    if let Seen::There(_) = look.part("Metrics") {
        look.notes.add(look.id, format!("the metric math of {}", look.id), MATH);
        return None;
    }
    one(look)
}

fn one(look: Look<'_>) -> Option<Metric> {
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

/// Returns the actions as far as they are known. They are unknown if a condition on a parameter leaves them out.
fn actions(look: Look<'_>, raw: Option<&Node>, document: &Node) -> Seen<Vec<String>> {
    let actions = look.texts("AlarmActions").into_iter().collect::<Option<Vec<String>>>();
    let Some(actions) = actions else { return Seen::Unknown };
    if !actions.is_empty() {
        return Seen::There(actions);
    }
    let mut search = Search { document, visited: Vec::new(), parameters: Vec::new() };
    if let Some(raw) = raw {
        search.conditions_in(raw);
    }
    if search.parameters.is_empty() {
        return Seen::There(actions);
    }
    let given: Vec<String> =
        search.parameters.iter().map(|name| format!("--parameter {name}=VALUE")).collect();
    look.notes.add(look.id, format!("the actions of {}", look.id), format!("pass {}", given.join(" or ")));
    Seen::Unknown
}

/// Finds the parameters on which conditions depend.
struct Search<'a> {
    document: &'a Node,
    visited: Vec<&'a str>,
    parameters: Vec<&'a str>,
}

impl<'a> Search<'a> {
    fn conditions_in(&mut self, node: &'a Node) {
        for (key, value) in node.entries() {
            if let ("Fn::If", Some(name)) =
                (key.as_str(), value.as_list().and_then(|items| items.first()?.as_text()))
            {
                self.condition(name);
            }
            self.conditions_in(value);
        }
        node.as_list().unwrap_or_default().iter().for_each(|item| self.conditions_in(item));
    }

    fn condition(&mut self, name: &'a str) {
        let document = self.document;
        if self.visited.contains(&name) {
            return;
        }
        self.visited.push(name);
        if let Some(condition) = document.get("Conditions").and_then(|all| all.get(name)) {
            self.references_in(condition);
        }
    }

    fn references_in(&mut self, node: &'a Node) {
        for (key, value) in node.entries() {
            match (key.as_str(), value.as_text()) {
                ("Ref", Some(name)) if self.is_parameter(name) && !self.parameters.contains(&name) => {
                    self.parameters.push(name);
                }
                ("Condition", Some(name)) => self.condition(name),
                _ => self.references_in(value),
            }
        }
        node.as_list().unwrap_or_default().iter().for_each(|item| self.references_in(item));
    }

    fn is_parameter(&self, name: &str) -> bool {
        self.document.get("Parameters").is_some_and(|parameters| parameters.get(name).is_some())
    }
}
