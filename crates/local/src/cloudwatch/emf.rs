//! Embedded metric format: lines of a function's log that become metrics.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{LARGEST_VALUE, Metric, Resolution, Unit, ValueSet};

/// A metric's value in a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Embedded {
    pub(crate) metric: Metric,
    pub(crate) unit: Unit,
    pub(crate) resolution: Resolution,
    pub(crate) values: Vec<ValueSet>,
    pub(crate) at: SystemTime,
}

/// The reason why a document in a line is invalid. None of its values count then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadDocument {
    /// The line is not JSON, or does not have the form of a document.
    Unreadable,
    /// The document breaks a rule of the format.
    Invalid,
}

impl BadDocument {
    pub(super) const ALL: [Self; 2] = [Self::Unreadable, Self::Invalid];

    /// Returns the name of the metric that counts such lines.
    pub(super) fn metric(&self) -> &'static str {
        match self {
            Self::Unreadable => "EMFParsingErrors",
            Self::Invalid => "EMFValidationErrors",
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata {
    timestamp: u64,
    cloud_watch_metrics: Vec<Directive>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Directive {
    namespace: String,
    dimensions: Vec<Vec<String>>,
    metrics: Vec<MetricDefinition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MetricDefinition {
    name: String,
    unit: Option<String>,
    storage_resolution: Option<u32>,
}

/// Reads the values in a line, none if it is not a document. Text before the document is ignored.
pub(crate) fn read(line: &str) -> Result<Vec<Embedded>, BadDocument> {
    let Some(document) = line.find('{').map(|start| &line[start..]).filter(|text| text.contains("\"_aws\""))
    else {
        return Ok(Vec::new());
    };
    let mut root: Map<String, Value> = serde_json::from_str(document).map_err(|_| BadDocument::Unreadable)?;
    // The word can also be a value, or a key at a deeper level.
    let Some(metadata) = root.remove("_aws") else { return Ok(Vec::new()) };
    if metadata.get("CloudWatchMetrics").is_none() {
        return Ok(Vec::new());
    }
    let metadata: Metadata = serde_json::from_value(metadata).map_err(|_| BadDocument::Unreadable)?;
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(metadata.timestamp)).ok_or(BadDocument::Invalid)?;
    let mut found = Vec::new();
    for directive in &metadata.cloud_watch_metrics {
        found.extend(directive.read(&root, at).ok_or(BadDocument::Invalid)?);
    }
    Ok(found)
}

impl Directive {
    fn read(&self, root: &Map<String, Value>, at: SystemTime) -> Option<Vec<Embedded>> {
        let named = (1..=255).contains(&self.namespace.chars().count());
        if !named || self.namespace.starts_with("AWS/") || self.metrics.len() > 100 {
            return None;
        }
        let sets: Option<Vec<_>> = self.dimensions.iter().map(|names| dimensions(names, root)).collect();
        // Without a set there are no dimensions, as with an empty one.
        let sets = sets.map(|sets| if sets.is_empty() { vec![BTreeMap::new()] } else { sets })?;
        let mut found = Vec::new();
        for definition in &self.metrics {
            let (unit, resolution, values) = definition.read(root)?;
            for dimensions in &sets {
                let (namespace, name) = (self.namespace.clone(), definition.name.clone());
                let metric = Metric { namespace, name, dimensions: dimensions.clone() };
                found.push(Embedded { metric, unit, resolution, values: values.clone(), at });
            }
        }
        Some(found)
    }
}

impl MetricDefinition {
    fn read(&self, root: &Map<String, Value>) -> Option<(Unit, Resolution, Vec<ValueSet>)> {
        let unit = self.unit.as_deref().map_or(Some(Unit::NONE), Unit::parse)?;
        let resolution = match self.storage_resolution {
            Some(1) => Resolution::Second,
            Some(60) | None => Resolution::Minute,
            Some(_) => return None,
        };
        let target = root.get(&self.name)?;
        let numbers = target.as_array().map_or(std::slice::from_ref(target), Vec::as_slice);
        let number = |value: &Value| value.as_f64().filter(|number| number.abs() <= LARGEST_VALUE);
        let values: Option<Vec<_>> =
            numbers.iter().map(|value| Some(ValueSet::of(number(value)?, 1.0))).collect();
        let named = (1..=255).contains(&self.name.chars().count());
        values.filter(|values| named && values.len() <= 100).map(|values| (unit, resolution, values))
    }
}

fn dimensions(names: &[String], root: &Map<String, Value>) -> Option<BTreeMap<String, String>> {
    let dimension = |name: &String| {
        let value = root.get(name)?.as_str()?;
        ((1..=1_024).contains(&value.chars().count())).then(|| (name.clone(), value.to_owned()))
    };
    if names.len() > 30 { None } else { names.iter().map(dimension).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Statistic;
    use super::*;

    fn document() -> Value {
        json!({
            "_aws": { "Timestamp": 1_795_247_400_123_u64, "CloudWatchMetrics": [{
                "Namespace": "Shop",
                "Dimensions": [["Queue"], ["Queue", "Tenant"], []],
                "Metrics": [
                    { "Name": "Orders", "Unit": "Count" },
                    { "Name": "Latency", "Unit": "Milliseconds", "StorageResolution": 1 },
                ],
            }] },
            "Queue": "orders", "Tenant": "a", "Orders": 3, "Latency": [1.5, 2, 2], "note": "free",
        })
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Result<Vec<Embedded>, BadDocument> {
        let mut document = document();
        change(&mut document);
        read(&document.to_string())
    }

    #[test]
    fn every_metric_is_there_once_for_each_set_of_dimensions() {
        let found = read(&format!("2026-11-21T15:00:00Z req-1 INFO {}", document())).unwrap();
        assert_eq!(found.len(), 6);
        let all =
            found.iter().find(|each| each.metric.dimensions.len() == 2 && each.metric.name == "Latency");
        let latency = all.unwrap();
        assert_eq!(latency.metric, Metric::new("Shop", "Latency", [("Queue", "orders"), ("Tenant", "a")]));
        assert_eq!((latency.unit, latency.resolution), (Unit::MILLISECONDS, Resolution::Second));
        assert_eq!(latency.at, UNIX_EPOCH + Duration::from_millis(1_795_247_400_123));
        let sums: Vec<_> = latency.values.iter().map(|values| values.statistic(Statistic::Sum)).collect();
        assert_eq!(sums, [Some(1.5), Some(2.0), Some(2.0)]);
        let names: Vec<_> = found.iter().map(|each| each.metric.name.as_str()).collect();
        assert_eq!(names.iter().filter(|name| **name == "Orders").count(), 3);
    }

    #[test]
    fn no_set_of_dimensions_is_an_empty_one() {
        let found =
            changed(|document| document["_aws"]["CloudWatchMetrics"][0]["Dimensions"] = json!([])).unwrap();
        assert!(found.len() == 2 && found.iter().all(|each| each.metric.dimensions.is_empty()), "{found:?}");
    }

    #[test]
    fn other_lines_are_no_documents() {
        for line in [
            "",
            "hello",
            "{",
            "{\"a\":1}",
            "a {\"b\": \"\\\"_aws\\\"\"}",
            "{\"x\":{\"_aws\":{}}}",
            "{\"_aws\":{}}",
        ] {
            assert_eq!(read(line), Ok(vec![]), "{line}");
        }
    }

    #[test]
    fn nothing_of_a_bad_document_is_taken() {
        assert_eq!(read("{\"_aws\": {"), Err(BadDocument::Unreadable));
        assert_eq!(
            changed(|document| document["_aws"]["Timestamp"] = json!("now")),
            Err(BadDocument::Unreadable)
        );
        let directive = |change: fn(&mut Value)| {
            changed(|document| change(&mut document["_aws"]["CloudWatchMetrics"][0]))
        };
        for refused in [
            directive(|directive| directive["Namespace"] = json!("AWS/SQS")),
            directive(|directive| directive["Namespace"] = json!("")),
            directive(|directive| directive["Dimensions"] = json!([["Missing"]])),
            directive(|directive| directive["Dimensions"] = json!([vec!["Queue"; 31]])),
            directive(|directive| directive["Metrics"][0]["Unit"] = json!("Cups")),
            directive(|directive| directive["Metrics"][0]["StorageResolution"] = json!(5)),
            directive(|directive| directive["Metrics"][0]["Name"] = json!("Missing")),
            directive(|directive| directive["Metrics"] = json!(vec![json!({ "Name": "Orders" }); 101])),
            changed(|document| document["Orders"] = json!("three")),
            changed(|document| document["Orders"] = json!(vec![1; 101])),
            changed(|document| document["Orders"] = json!([1, null])),
            changed(|document| document["Orders"] = json!(1e200)),
            changed(|document| document["Queue"] = json!("")),
            changed(|document| document["Queue"] = json!(7)),
        ] {
            assert_eq!(refused, Err(BadDocument::Invalid));
        }
    }
}
