use std::time::{Duration, SystemTime};

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::error::ProvideErrorMetadata;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{
    ComparisonOperator, Dimension, HistoryItemType, Metric, MetricDataQuery, MetricDatum, MetricStat,
    StandardUnit, StateValue, Statistic, StatisticSet,
};
use redrive_local::{AlarmState, Config, EventKind, Speed};

use crate::support::loopback;
use crate::support::shop::{Open, shop};

/// Queues without functions, and a client. Time jumps as soon as there is an alarm to evaluate.
async fn endpoint(speed: Speed) -> (Open, Client) {
    let aws = Open::start(Config { functions: vec![], mappings: vec![], speed, ..shop(10) }).await;
    let client = loopback::cloudwatch(&aws.local.endpoint_url());
    (aws, client)
}

fn datum(name: &str) -> aws_sdk_cloudwatch::types::builders::MetricDatumBuilder {
    let queue = Dimension::builder().name("QueueName").value("orders").build();
    MetricDatum::builder().metric_name(name).dimensions(queue).unit(StandardUnit::Count)
}

/// So many seconds from now.
fn at(seconds: i64) -> DateTime {
    let offset = Duration::from_secs(seconds.unsigned_abs());
    let now = SystemTime::now();
    DateTime::from(if seconds < 0 { now - offset } else { now + offset })
}

#[tokio::test]
async fn values_that_are_put_are_listed_and_read_with_their_statistics() {
    let (aws, client) = endpoint(Speed::Times(1.0)).await;
    let statistics = StatisticSet::builder().sample_count(2.0).sum(7.0).minimum(3.0).maximum(4.0).build();
    let counted = datum("Orders").set_values(Some(vec![1.0, 2.0])).set_counts(Some(vec![1.0, 3.0]));
    for data in [counted.build(), datum("Orders").statistic_values(statistics).build()] {
        client.put_metric_data().namespace("Shop").metric_data(data).send().await.unwrap();
    }
    let listed = client.list_metrics().namespace("Shop").send().await.unwrap();
    let [metric] = listed.metrics() else { panic!("one metric: {listed:?}") };
    assert_eq!((metric.metric_name(), metric.dimensions()[0].value()), (Some("Orders"), Some("orders")));

    let stat = |stat: &str| MetricStat::builder().metric(metric.clone()).period(3_600).stat(stat).build();
    let query = |id: &str, name: &str| MetricDataQuery::builder().id(id).metric_stat(stat(name)).build();
    let queries = ["Sum", "Minimum", "Maximum", "Average", "SampleCount"];
    let queries = (1..).zip(queries).map(|(number, name): (u32, _)| query(&format!("m{number}"), name));
    let get = client.get_metric_data().set_metric_data_queries(Some(queries.collect()));
    let found = get.start_time(at(-60)).end_time(at(3_540)).send().await.unwrap();
    let values: Vec<_> = found.metric_data_results().iter().map(|series| series.values()[0]).collect();
    assert_eq!(values, [14.0, 1.0, 4.0, 14.0 / 6.0, 6.0]);

    let get = client.get_metric_statistics().namespace("Shop").metric_name("Orders").period(60);
    let get = get.set_dimensions(metric.dimensions.clone()).start_time(at(-120)).end_time(at(60));
    let found = get.statistics(Statistic::Sum).send().await.unwrap();
    let sums: f64 = found.datapoints().iter().filter_map(|point| point.sum()).sum();
    assert_eq!((sums, found.datapoints()[0].unit()), (14.0, Some(&StandardUnit::Count)));
    let minute = found.datapoints()[0].timestamp().unwrap();
    assert_eq!(
        (minute.secs() % 60, minute.subsec_nanos()),
        (0, 0),
        "the clocks are the same, and so are their minutes"
    );
    aws.close().await;
}

#[tokio::test]
async fn an_alarm_goes_off_and_tells_why_and_when() {
    let (mut aws, client) = endpoint(Speed::Max).await;
    let put = client.put_metric_alarm().alarm_name("TooMany").namespace("Shop").metric_name("Orders");
    let put = put.dimensions(Dimension::builder().name("QueueName").value("orders").build());
    let put = put.statistic(Statistic::Sum).period(60).evaluation_periods(1).threshold(2.0);
    let put =
        put.comparison_operator(ComparisonOperator::GreaterThanThreshold).treat_missing_data("notBreaching");
    put.alarm_actions("arn:aws:sns:eu-west-1:123456789012:pager").send().await.unwrap();
    let until = |wanted: AlarmState| {
        move |kind: &EventKind| {
            matches!(kind, EventKind::Alarm { state, .. } if *state == wanted).then_some(())
        }
    };
    aws.until(until(AlarmState::Ok)).await;
    let data = datum("Orders").value(3.0).build();
    client.put_metric_data().namespace("Shop").metric_data(data).send().await.unwrap();
    aws.until(until(AlarmState::Alarm)).await;

    let found = client.describe_alarms().alarm_names("TooMany").send().await.unwrap();
    let [alarm] = found.metric_alarms() else { panic!("one alarm: {found:?}") };
    assert_eq!(alarm.state_value(), Some(&StateValue::Alarm));
    let reason = alarm.state_reason().unwrap();
    assert!(reason.starts_with("Threshold Crossed: 1 datapoint [3.0 ("), "{reason}");
    assert!(alarm.state_reason_data().unwrap().contains("\"recentDatapoints\":[3.0]"));
    assert_eq!(alarm.alarm_actions(), ["arn:aws:sns:eu-west-1:123456789012:pager"]);
    let age = at(0).as_secs_f64() - alarm.state_updated_timestamp().unwrap().as_secs_f64();
    assert!((-1.0..60.0).contains(&age), "by the client's clock: {age}");
    let history =
        client.describe_alarm_history().history_item_type(HistoryItemType::StateUpdate).send().await.unwrap();
    assert_eq!(history.alarm_history_items()[0].history_summary(), Some("Alarm updated from OK to ALARM"));

    client.disable_alarm_actions().alarm_names("TooMany").send().await.unwrap();
    let of_metric = client.describe_alarms_for_metric().namespace("Shop").metric_name("Orders");
    let of_metric = of_metric.set_dimensions(alarm.dimensions.clone()).send().await.unwrap();
    assert_eq!(of_metric.metric_alarms()[0].actions_enabled(), Some(false));
    client.enable_alarm_actions().alarm_names("TooMany").send().await.unwrap();
    client.delete_alarms().alarm_names("TooMany").send().await.unwrap();
    assert!(client.describe_alarms().send().await.unwrap().metric_alarms().is_empty());
    aws.close().await;
}

#[tokio::test]
async fn refusals_arrive_as_the_types_that_the_client_has_for_them() {
    let (aws, client) = endpoint(Speed::Max).await;
    let put = |data: MetricDatum| client.put_metric_data().namespace("Shop").metric_data(data).send();
    let error = put(datum("Orders").value(f64::NAN).build()).await.unwrap_err().into_service_error();
    assert!(error.is_invalid_parameter_value_exception(), "{error:?}");
    assert_eq!(error.message(), Some("The value NaN for parameter MetricData.member.1.Value is invalid."));
    let error = put(datum("Orders").build()).await.unwrap_err().into_service_error();
    assert!(error.is_missing_required_parameter_exception(), "{error:?}");
    let both = datum("Orders").value(1.0).values(1.0).build();
    let error = put(both).await.unwrap_err().into_service_error();
    assert!(error.is_invalid_parameter_combination_exception(), "{error:?}");
    let set = client.set_alarm_state().alarm_name("none").state_value(StateValue::Ok).state_reason("drill");
    assert!(set.send().await.unwrap_err().into_service_error().is_resource_not_found());
    let describe = client.describe_alarms().next_token("mine").send().await.unwrap_err();
    assert!(describe.into_service_error().is_invalid_next_token());
    let math = MetricDataQuery::builder().id("e").expression("m1+m2").build();
    let get = client.get_metric_data().metric_data_queries(math).start_time(at(-60)).end_time(at(0));
    let error = get.send().await.unwrap_err();
    assert_eq!(error.code(), Some("ValidationError"));
    assert!(error.message().unwrap().contains("does not support expressions"), "{error:?}");
    let stat = MetricStat::builder().metric(Metric::builder().build()).period(60).stat("Sum").build();
    let query = MetricDataQuery::builder().id("m").metric_stat(stat).build();
    let get = client.get_metric_data().metric_data_queries(query).start_time(at(-60)).end_time(at(0));
    assert_eq!(get.send().await.unwrap_err().code(), Some("MissingParameter"));
    aws.close().await;
}

/// A body so large that the client compresses it.
#[tokio::test]
async fn a_thousand_metrics_arrive_in_one_call() {
    let (aws, client) = endpoint(Speed::Times(1.0)).await;
    let data = (0..1_000).map(|number| datum(&format!("Orders{number}")).value(f64::from(number)).build());
    client.put_metric_data().namespace("Shop").set_metric_data(Some(data.collect())).send().await.unwrap();
    let pages =
        client.list_metrics().namespace("Shop").into_paginator().send().collect::<Result<Vec<_>, _>>();
    let counts: Vec<_> = pages.await.unwrap().iter().map(|page| page.metrics().len()).collect();
    assert_eq!(counts, [500, 500]);
    aws.close().await;
}
