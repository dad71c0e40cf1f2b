//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html>

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::{Context, Dimension, told};
use crate::cloudwatch::{Metric, error};
use crate::protocol::{Answer, List, page};

const PAGE: usize = 500;
const RECENTLY: Duration = Duration::from_secs(3 * 3_600);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    namespace: Option<String>,
    metric_name: Option<String>,
    #[serde(default)]
    dimensions: List<Filter>,
    next_token: Option<String>,
    recently_active: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Filter {
    name: String,
    value: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    metrics: Vec<Listed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    namespace: String,
    metric_name: String,
    dimensions: Vec<Dimension>,
}

/// A metric is listed as soon as it has a value; on AWS that may take 15 minutes.
pub(super) fn list(context: &mut Context<'_>) -> Answer {
    let input: Input = context.input()?;
    if input.dimensions.0.len() > 10 {
        return Err(error::too_many("Dimensions", 10));
    }
    let since = match input.recently_active.as_deref() {
        Some("PT3H") => Some(context.now - RECENTLY),
        Some(other) => return Err(error::invalid_value("RecentlyActive", other)),
        None => None,
    };
    let store = &context.service.store;
    let metrics = store.metrics().filter(|metric| {
        input.matches(metric) && since.is_none_or(|since| store.has_any_since(metric, since))
    });
    let found = page(metrics, input.next_token.as_deref(), PAGE, error::next_token)?;
    let metrics = found.items.into_iter().map(Listed::of).collect();
    context.output(&Output { metrics, next_token: found.next_token })
}

impl Input {
    fn matches(&self, metric: &Metric) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| *namespace == metric.namespace)
            && self.metric_name.as_ref().is_none_or(|name| *name == metric.name)
            && self.dimensions.0.iter().all(|filter| {
                let present = metric.dimensions.get(&filter.name);
                present.is_some_and(|value| filter.value.as_ref().is_none_or(|wanted| wanted == value))
            })
    }
}

impl Listed {
    fn of(metric: &Metric) -> Self {
        Self {
            namespace: metric.namespace.clone(),
            metric_name: metric.name.clone(),
            dimensions: told(&metric.dimensions),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::client;
    use crate::cloudwatch::CloudWatch;
    use crate::protocol::testing::{BEGIN, Client};

    fn world() -> Client<CloudWatch> {
        let mut world = client();
        let datum = |name: &str, tenant: &str, ago: u64| {
            let dimensions = json!([{ "Name": "Tenant", "Value": tenant }]);
            json!({ "MetricName": name, "Value": 1, "Timestamp": BEGIN - ago, "Dimensions": dimensions })
        };
        let data = [datum("Orders", "a", 0), datum("Orders", "b", 5 * 3_600), datum("Errors", "a", 0)];
        world.ask("PutMetricData", json!({ "Namespace": "Shop", "MetricData": data }));
        let plain = json!([{ "MetricName": "Orders", "Value": 1 }]);
        world.ask("PutMetricData", json!({ "Namespace": "Bar", "MetricData": plain }));
        world
    }

    /// The metrics in short.
    fn list(input: Value) -> Vec<String> {
        let found = world().ask("ListMetrics", input);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let metrics = found["Metrics"].as_array().unwrap().iter();
        metrics
            .map(|metric| {
                let dimensions = metric["Dimensions"].as_array().unwrap().iter();
                let values: Vec<_> = dimensions.map(|dimension| text(&dimension["Value"])).collect();
                format!("{} {} {}", text(&metric["Namespace"]), text(&metric["MetricName"]), values.join(","))
            })
            .collect()
    }

    #[test]
    fn metrics_are_found_by_namespace_name_dimensions_and_age() {
        let all = ["Bar Orders ", "Shop Errors a", "Shop Orders a", "Shop Orders b"];
        assert_eq!(list(json!({})), all);
        assert_eq!(list(json!({ "Namespace": "Shop" })), all[1..]);
        assert_eq!(list(json!({ "MetricName": "Errors" })), ["Shop Errors a"]);
        assert_eq!(list(json!({ "Dimensions": [{ "Name": "Tenant" }] })), all[1..]);
        assert_eq!(list(json!({ "Dimensions": [{ "Name": "Tenant", "Value": "b" }] })), ["Shop Orders b"]);
        assert_eq!(list(json!({ "RecentlyActive": "PT3H" })), all[..3]);
        assert_eq!(
            world().refused("ListMetrics", json!({ "RecentlyActive": "PT1H" })).code,
            "InvalidParameterValue"
        );
    }

    #[test]
    fn a_page_has_five_hundred_metrics() {
        let mut world = client();
        let data: Vec<_> =
            (0..501).map(|number| json!({ "MetricName": format!("m{number}"), "Value": 1 })).collect();
        world.ask("PutMetricData", json!({ "Namespace": "Shop", "MetricData": data }));
        let first = world.ask("ListMetrics", json!({}));
        assert_eq!(first["Metrics"].as_array().unwrap().len(), 500);
        let rest = world.ask("ListMetrics", json!({ "NextToken": first["NextToken"] }));
        assert_eq!((rest["Metrics"].as_array().unwrap().len(), &rest["NextToken"]), (1, &Value::Null));
    }
}
