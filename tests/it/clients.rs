use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use redrive_local::{Config, Speed};

use crate::support::loopback;
use crate::support::shop::{Open, shop};

/// Queues without functions, a client, and the URL of the queue `orders`. Time passes, but never jumps.
async fn endpoint() -> (Open, Client, String) {
    let speed = Speed::Times(20.0);
    let aws = Open::start(Config { functions: vec![], mappings: vec![], speed, ..shop(10) }).await;
    let (sqs, url) = (loopback::sqs(&aws.local.endpoint_url()), aws.local.queue_url("orders"));
    (aws, sqs, url)
}

#[tokio::test]
async fn errors_arrive_as_the_types_that_the_client_has_for_them() {
    let (aws, sqs, url) = endpoint().await;
    let nowhere = aws.local.queue_url("nowhere");
    let error = sqs.send_message().queue_url(&nowhere).message_body("tea").send().await.unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());
    let error = sqs.receive_message().queue_url(&nowhere).send().await.unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());

    let garbage = sqs.delete_message().queue_url(&url).receipt_handle("garbage").send().await.unwrap_err();
    assert!(garbage.into_service_error().is_receipt_handle_is_invalid());
    let hide = || sqs.change_message_visibility().queue_url(&url);
    let garbage = hide().receipt_handle("garbage").visibility_timeout(1).send().await.unwrap_err();
    assert!(garbage.into_service_error().is_receipt_handle_is_invalid());

    aws.send(["tea"]);
    let message = loopback::receive(&sqs, &url, 1).await.remove(0);
    let handle = message.receipt_handle().unwrap();
    let too_long = hide().receipt_handle(handle).visibility_timeout(43_200).send().await.unwrap_err();
    assert_eq!(too_long.code(), Some("InvalidParameterValue"));
    assert!(too_long.message().unwrap().contains("beyond the limit [43200 seconds]"), "{too_long:?}");

    let entry =
        |id: String| SendMessageBatchRequestEntry::builder().id(id).message_body("tea").build().unwrap();
    let batch = |ids: Vec<String>| {
        sqs.send_message_batch()
            .queue_url(&url)
            .set_entries(Some(ids.into_iter().map(entry).collect()))
            .send()
    };
    let many = batch((0..11).map(|id| id.to_string()).collect()).await.unwrap_err().into_service_error();
    assert!(many.is_too_many_entries_in_batch_request(), "{many:?}");
    let twice = batch(vec!["a".to_owned(), "a".to_owned()]).await.unwrap_err().into_service_error();
    assert!(twice.is_batch_entry_ids_not_distinct(), "{twice:?}");
    aws.close().await;
}
