use std::time::Duration;

use aws_sdk_lambda::Client;
use aws_sdk_lambda::types::{EventSourceMappingConfiguration, FunctionResponseType, ScalingConfig};
use redrive_local::{Config, EventKind, Local, Speed};

use crate::support::{message, sdk, shop};

const PATIENCE: Duration = Duration::from_secs(60);

async fn open() -> (Local, Client) {
    let local = Local::start(shop(Speed::Max)).await.unwrap();
    let lambda = sdk::lambda(&local);
    (local, lambda)
}

async fn mapping(lambda: &Client) -> EventSourceMappingConfiguration {
    let listed = lambda.list_event_source_mappings().function_name("worker").send().await.unwrap();
    let [mapping] = listed.event_source_mappings() else { panic!("one mapping: {listed:?}") };
    mapping.clone()
}

/// Enables or disables the mapping, and waits until the change is complete.
async fn enable(lambda: &Client, enabled: bool) {
    let id = mapping(lambda).await.uuid.unwrap();
    let update = lambda.update_event_source_mapping().uuid(&id).enabled(enabled);
    let (at_first, at_last) = if enabled { ("Enabling", "Enabled") } else { ("Disabling", "Disabled") };
    assert_eq!(update.send().await.unwrap().state(), Some(at_first));
    let settled = async {
        while lambda.get_event_source_mapping().uuid(&id).send().await.unwrap().state() != Some(at_last) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("it settles");
}

#[tokio::test]
async fn a_disabled_mapping_leaves_messages_until_it_is_enabled_again() {
    let (mut local, lambda) = open().await;
    let mut events = local.take_events();
    enable(&lambda, false).await;
    let id = local.send("orders", message("ok")).unwrap();
    // Nothing is left to do, and the message is still in its queue.
    tokio::time::timeout(PATIENCE, local.until_idle()).await.expect("it comes to rest");
    enable(&lambda, true).await;
    tokio::time::timeout(PATIENCE, local.until_idle()).await.expect("it comes to rest");
    let totals = local.stop().await;
    assert_eq!((totals.done, totals.left, totals.invocations), (1, 0, 1));
    let mut told = Vec::new();
    while let Some(event) = events.recv().await {
        match event.kind {
            EventKind::Received { message_id, attempt, .. } => told.push((message_id, attempt)),
            _ => continue,
        }
    }
    assert_eq!(told, [(id, 1)], "it was received once, by the function");
}

#[tokio::test]
async fn running_invocations_end_before_a_mapping_is_disabled() {
    let (mut local, lambda) = open().await;
    let mut events = local.take_events();
    local.send("orders", message("slow 300")).unwrap();
    let started =
        async { while !matches!(events.recv().await.unwrap().kind, EventKind::InvocationStarted { .. }) {} };
    tokio::time::timeout(PATIENCE, started).await.expect("it starts");
    let id = mapping(&lambda).await.uuid.unwrap();
    lambda.update_event_source_mapping().uuid(&id).enabled(false).send().await.unwrap();
    assert_eq!(mapping(&lambda).await.state(), Some("Disabling"));
    let again = lambda.update_event_source_mapping().uuid(&id).enabled(true).send().await.unwrap_err();
    assert!(again.into_service_error().is_resource_in_use_exception());
    tokio::time::timeout(PATIENCE, local.until_idle()).await.expect("it comes to rest");
    assert_eq!(mapping(&lambda).await.state(), Some("Disabled"));
    assert_eq!(local.stop().await.done, 1);
}

#[tokio::test]
async fn a_waiting_batch_is_delivered_although_its_mapping_is_disabled() {
    let mut config = shop(Speed::Max);
    config.mappings[0].window = Duration::from_secs(20);
    // At rest, time and thus the window stand still.
    config.speed = Speed::Times(60.0);
    let mut local = Local::start(config).await.unwrap();
    let mut events = local.take_events();
    let lambda = sdk::lambda(&local);
    local.send("orders", message("ok")).unwrap();
    let url = local.queue_url("orders");
    let received = async {
        let body = format!("{{\"QueueUrl\":\"{url}\",\"AttributeNames\":[\"All\"]}}");
        let input = serde_json::from_str(&body).unwrap();
        loop {
            let answer =
                crate::support::http::json_call(&local, "AmazonSQS.GetQueueAttributes", &input).await;
            if answer["Attributes"]["ApproximateNumberOfMessagesNotVisible"] == "1" {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, received).await.expect("it is received");
    let id = mapping(&lambda).await.uuid.unwrap();
    lambda.update_event_source_mapping().uuid(&id).enabled(false).send().await.unwrap();
    tokio::time::timeout(PATIENCE, local.until_idle()).await.expect("it comes to rest");
    assert_eq!(mapping(&lambda).await.state(), Some("Disabled"));
    assert_eq!(local.stop().await.done, 1);
    events.close();
}

#[tokio::test]
async fn a_mapping_works_by_what_it_was_changed_to() {
    let (mut local, lambda) = open().await;
    let mut events = local.take_events();
    enable(&lambda, false).await;
    for _ in 0..4 {
        local.send("orders", message("ok")).unwrap();
    }
    let id = mapping(&lambda).await.uuid.unwrap();
    let changed = lambda
        .update_event_source_mapping()
        .uuid(&id)
        .enabled(true)
        .batch_size(2)
        .scaling_config(ScalingConfig::builder().maximum_concurrency(2).build())
        .function_response_types(FunctionResponseType::ReportBatchItemFailures)
        .send()
        .await
        .unwrap();
    assert_eq!(changed.batch_size(), Some(2));
    assert_eq!(changed.scaling_config().and_then(ScalingConfig::maximum_concurrency), Some(2));
    tokio::time::timeout(PATIENCE, local.until_idle()).await.expect("it comes to rest");
    assert_eq!(local.stop().await.done, 4);
    let mut sizes = Vec::new();
    while let Some(event) = events.recv().await {
        if let EventKind::InvocationStarted { messages, .. } = event.kind {
            sizes.push(messages);
        }
    }
    assert_eq!(sizes, [2, 2]);
}

#[tokio::test]
async fn a_function_says_how_it_is_configured_and_where_it_logs() {
    let (local, lambda) = open().await;
    let got = lambda.get_function().function_name("worker").send().await.unwrap();
    let said = got.configuration().unwrap();
    let arn = "arn:aws:lambda:eu-west-1:123456789012:function:worker";
    assert_eq!((said.function_arn(), said.timeout(), said.memory_size()), (Some(arn), Some(1), Some(128)));
    assert_eq!(said.logging_config().unwrap().log_group(), Some("/aws/lambda/worker"));
    assert_eq!(said.runtime().unwrap().as_str(), "provided.al2023");
    let configured = lambda.get_function_configuration().function_name(arn).send().await.unwrap();
    assert_eq!(configured.revision_id(), said.revision_id());
    let listed = lambda.list_functions().send().await.unwrap();
    assert_eq!(listed.functions().len(), 1);
    let missing = lambda.get_function().function_name("cook").send().await.unwrap_err().into_service_error();
    assert!(missing.is_resource_not_found_exception());
    assert_eq!(
        missing.meta().message(),
        Some("Function not found: arn:aws:lambda:eu-west-1:123456789012:function:cook")
    );
    local.stop().await;
}

#[tokio::test]
async fn without_concurrency_a_function_is_throttled_until_it_gets_some() {
    // The wait would include the alarms.
    let config = Config { alarms: vec![], ..shop(Speed::Times(1.0)) };
    let local = Local::start(config).await.unwrap();
    let lambda = sdk::lambda(&local);
    let reserve = |concurrency| {
        lambda.put_function_concurrency().function_name("worker").reserved_concurrent_executions(concurrency)
    };
    reserve(0).send().await.unwrap();
    local.send("orders", message("ok")).unwrap();
    lambda.delete_function_concurrency().function_name("worker").send().await.unwrap();
    tokio::time::timeout(PATIENCE, local.until_idle()).await.expect("it comes to rest");
    let read = lambda.get_function_concurrency().function_name("worker").send().await.unwrap();
    assert_eq!(read.reserved_concurrent_executions(), None);
    assert_eq!(local.stop().await.done, 1);
}

#[tokio::test]
async fn another_operation_is_refused_by_name() {
    let (local, lambda) = open().await;
    let error = lambda.list_layers().send().await.unwrap_err().into_service_error();
    assert_eq!(error.meta().code(), Some("UnknownOperationException"));
    assert_eq!(
        error.meta().message(),
        Some("redrive-local does not support GET /2018-10-31/layers of Lambda")
    );
    local.stop().await;
}
