//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html>

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::{Context, Dimension, dimension_list};
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

/// Lists each metric as soon as it has a value. On AWS that may take 15 minutes.
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
            dimensions: dimension_list(&metric.dimensions),
        }
    }
}
