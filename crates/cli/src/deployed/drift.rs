//! Finds differences between a stack and its template. Pure.

use std::fmt::Debug;

use redrive_iac::deployment::{Alarm, Deployment, Drift, Function, Mapping, Queue, Seen};

use crate::counted::counted;

/// Lists changes and deletions since the deployment, among values that are known on both sides.
pub(super) fn between(template: &Deployment, deployed: &Deployment) -> Vec<Drift> {
    let mut drifts = Vec::new();
    for (known, found) in pairs(&template.queues, &deployed.queues, |queue| Some(queue.arn.clone())) {
        queue(known, found, &mut Of { id: &found.id, drifts: &mut drifts });
    }
    for (known, found) in
        pairs(&template.functions, &deployed.functions, |function| Some(function.name.clone()))
    {
        function(known, found, &mut Of { id: &found.id, drifts: &mut drifts });
    }
    let feed = |mapping: &Mapping| mapping.queue_arn.clone().zip(mapping.function.clone());
    for (known, found) in pairs(&template.mappings, &deployed.mappings, feed) {
        mapping(known, found, &mut Of { id: &found.id, drifts: &mut drifts });
    }
    let alarms =
        (template.alarms.as_deref().unwrap_or_default(), deployed.alarms.as_deref().unwrap_or_default());
    for (known, found) in pairs(alarms.0, alarms.1, |alarm| Some(alarm.name.clone())) {
        alarm(known, found, &mut Of { id: &found.id, drifts: &mut drifts });
    }
    if deployed.alarms.is_some() {
        let is_gone = |known: &&Alarm| alarms.1.iter().all(|found| found.name != known.name);
        drifts.extend(alarms.0.iter().filter(is_gone).map(|gone| Drift {
            id: gone.name.clone(),
            what: format!("the alarm {} is in the template, but no longer exists", gone.name),
        }));
    }
    drifts
}

/// Differences of one resource.
struct Of<'a> {
    id: &'a str,
    drifts: &'a mut Vec<Drift>,
}

impl Of<'_> {
    /// Adds a difference if both values are known and differ.
    fn differs<T: PartialEq>(
        &mut self,
        property: &str,
        template: Option<T>,
        deployed: Option<T>,
        show: impl Fn(&T) -> String,
    ) {
        if let (Some(template), Some(deployed)) = (template, deployed)
            && template != deployed
        {
            let what = format!(
                "{property} of {} is {}, but {} in the template",
                self.id,
                show(&deployed),
                show(&template)
            );
            self.drifts.push(Drift { id: self.id.to_owned(), what });
        }
    }

    fn seen<T: PartialEq + Clone>(
        &mut self,
        property: &str,
        template: &Seen<T>,
        deployed: &Seen<T>,
        show: impl Fn(&T) -> String,
    ) {
        let known = |seen: &Seen<T>| match seen {
            Seen::There(value) => Some(Some(value.clone())),
            Seen::Absent => Some(None),
            Seen::Unknown => None,
        };
        let or_none = |value: &Option<T>| value.as_ref().map_or_else(|| "not set".to_owned(), &show);
        self.differs(property, known(template), known(deployed), or_none);
    }
}

fn pairs<'a, T, K: PartialEq>(
    template: &'a [T],
    deployed: &'a [T],
    key: impl Fn(&T) -> Option<K> + 'a,
) -> impl Iterator<Item = (&'a T, &'a T)> {
    template.iter().filter_map(move |known| {
        let wanted = key(known)?;
        Some((known, deployed.iter().find(|found| key(found).is_some_and(|found| found == wanted))?))
    })
}

fn queue(template: &Queue, deployed: &Queue, of: &mut Of<'_>) {
    of.differs("VisibilityTimeout", template.visibility_timeout, deployed.visibility_timeout, words);
    of.differs("MessageRetentionPeriod", template.retention, deployed.retention, words);
    of.seen("RedrivePolicy", &template.redrive_policy, &deployed.redrive_policy, |policy| {
        let deliveries = |count| counted(count as usize, "delivery");
        let count = policy.max_receive_count.map_or_else(|| "? deliveries".to_owned(), deliveries);
        format!("{count}, then {}", policy.dead_letter_target_arn.as_deref().unwrap_or("?"))
    });
    of.seen("RedriveAllowPolicy", &template.redrive_allow_policy, &deployed.redrive_allow_policy, debug);
    of.seen("KmsMasterKeyId", &template.kms_key, &deployed.kms_key, Clone::clone);
}

fn function(template: &Function, deployed: &Function, of: &mut Of<'_>) {
    of.differs("Timeout", template.timeout, deployed.timeout, words);
    of.seen(
        "ReservedConcurrentExecutions",
        &template.reserved_concurrency,
        &deployed.reserved_concurrency,
        debug,
    );
    let (Some(known), Some(found)) = (&template.process.environment, &deployed.process.environment) else {
        return;
    };
    let names = known.keys().chain(found.keys().filter(|name| !known.contains_key(*name)));
    for name in names.filter(|name| name.starts_with("REDRIVE_")) {
        of.seen(name, &template.process.variable(name), &deployed.process.variable(name), |value| {
            format!("{value:?}")
        });
    }
}

fn mapping(template: &Mapping, deployed: &Mapping, of: &mut Of<'_>) {
    of.differs("BatchSize", template.batch_size, deployed.batch_size, debug);
    of.differs("MaximumBatchingWindowInSeconds", template.window, deployed.window, words);
    of.seen("MaximumConcurrency", &template.maximum_concurrency, &deployed.maximum_concurrency, debug);
    let reports = (template.reports_batch_item_failures, deployed.reports_batch_item_failures);
    of.differs("ReportBatchItemFailures", reports.0, reports.1, debug);
    of.differs("Enabled", template.enabled, deployed.enabled, debug);
}

fn alarm(template: &Alarm, deployed: &Alarm, of: &mut Of<'_>) {
    of.differs("the metric", template.metric.as_ref(), deployed.metric.as_ref(), |metric| {
        format!("{} {} {:?}", metric.namespace, metric.name, metric.dimensions)
    });
    of.differs("Statistic", Some(&template.statistic), Some(&deployed.statistic), |it| (*it).clone());
    of.differs("Period", template.period, deployed.period, words);
    of.differs("EvaluationPeriods", template.evaluation_periods, deployed.evaluation_periods, debug);
    of.differs("DatapointsToAlarm", template.datapoints_to_alarm, deployed.datapoints_to_alarm, debug);
    of.differs("Threshold", template.threshold, deployed.threshold, debug);
    of.differs("ComparisonOperator", Some(&template.comparison), Some(&deployed.comparison), |it| {
        (*it).clone()
    });
    of.differs("TreatMissingData", Some(&template.missing_data), Some(&deployed.missing_data), |it| {
        (*it).clone()
    });
}

fn debug(value: &impl Debug) -> String {
    format!("{value:?}")
}

fn words(time: &std::time::Duration) -> String {
    crate::span::words(*time)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use redrive_iac::deployment::Process;

    fn subject(queue: Queue, alarm: Option<Alarm>) -> Deployment {
        Deployment { queues: vec![queue], alarms: Some(alarm.into_iter().collect()), ..Deployment::default() }
    }

    fn told(template: &Deployment, live: &Deployment) -> Vec<String> {
        between(template, live).into_iter().map(|drift| drift.what).collect()
    }

    #[test]
    fn only_what_both_sides_tell_and_differs_is_told() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let queue = Queue { id: "orders".to_owned(), visibility_timeout: seconds(480), ..Queue::default() };
        let alarm = Alarm { name: "late".to_owned(), threshold: Some(1.0), ..Alarm::default() };
        let template = subject(queue.clone(), Some(alarm.clone()));
        assert_eq!(told(&template, &template), [""; 0]);

        let shorter = Queue { visibility_timeout: seconds(30), retention: seconds(60), ..queue.clone() };
        let expected = ["VisibilityTimeout of orders is 30s, but 8m in the template"];
        assert_eq!(told(&template, &subject(shorter, Some(alarm.clone()))), expected);

        let gone = told(&template, &subject(queue.clone(), None));
        assert_eq!(gone, ["the alarm late is in the template, but no longer exists"]);
        let unseen = Deployment { alarms: None, ..subject(queue, None) };
        assert_eq!(told(&template, &unseen), [""; 0]);
    }

    #[test]
    fn a_variable_that_redrive_reads_is_compared_and_others_are_not() {
        let function = |variables: &[(&str, &str)]| {
            let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
            let environment = Some(variables.iter().map(pair).collect());
            let process = Process { environment, ..Process::default() };
            let function = Function { id: "work".to_owned(), process, ..Function::default() };
            Deployment { functions: vec![function], ..Deployment::default() }
        };
        let template = function(&[("REDRIVE_MAX_RECEIVE_COUNT", "10"), ("TABLE", "a")]);
        let deployed =
            function(&[("REDRIVE_METRICS", "off"), ("TABLE", "b"), ("REDRIVE_MAX_RECEIVE_COUNT", "")]);
        let expected = [
            "REDRIVE_MAX_RECEIVE_COUNT of work is not set, but \"10\" in the template",
            "REDRIVE_METRICS of work is \"off\", but not set in the template",
        ];
        assert_eq!(told(&template, &deployed), expected);
    }
}
