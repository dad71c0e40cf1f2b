use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, MessageAttributeValue,
    SendMessageBatchRequestEntry,
};
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

fn attribute(data_type: &str) -> aws_sdk_sqs::types::builders::MessageAttributeValueBuilder {
    MessageAttributeValue::builder().data_type(data_type)
}

#[tokio::test]
async fn a_message_is_sent_received_delayed_and_deleted() {
    let (aws, sqs, url) = endpoint().await;
    let (text, bytes) =
        (attribute("String").string_value("früh"), attribute("Binary").binary_value(Blob::new([0, 255])));
    let (text, bytes) = (text.build().unwrap(), bytes.build().unwrap());
    let send = sqs.send_message().queue_url(&url).message_body("tea \u{1f375}");
    let send = send.message_attributes("channel", text.clone()).message_attributes("receipt", bytes.clone());
    let sent = send.send().await.unwrap();

    let message = loopback::receive(&sqs, &url, 1).await.remove(0);
    assert_eq!((message.message_id(), message.body()), (sent.message_id(), Some("tea \u{1f375}")));
    assert_eq!(message.md5_of_body(), sent.md5_of_message_body());
    assert_eq!(message.md5_of_message_attributes(), sent.md5_of_message_attributes());
    let expected = [("channel".to_owned(), text), ("receipt".to_owned(), bytes)].into();
    assert_eq!(message.message_attributes(), Some(&expected));

    let hide = sqs.change_message_visibility().queue_url(&url).visibility_timeout(36);
    hide.receipt_handle(message.receipt_handle().unwrap()).send().await.unwrap();
    let poll = || sqs.receive_message().queue_url(&url).wait_time_seconds(20).send();
    assert_eq!(poll().await.unwrap().messages, None, "after 20 s");
    let again = poll().await.unwrap().messages.unwrap().remove(0);
    assert_eq!(again.message_id(), sent.message_id(), "after 36 s");

    let delete = sqs.delete_message().queue_url(&url).receipt_handle(again.receipt_handle().unwrap());
    delete.send().await.unwrap();
    let counts =
        sqs.get_queue_attributes().queue_url(&url).attribute_names("All".into()).send().await.unwrap();
    for name in ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"] {
        assert_eq!(counts.attributes().unwrap()[&name.into()], "0", "{name}");
    }
    let story = aws.close().await;
    assert!((36..60).contains(&story.totals.simulated.as_secs()), "{:?}", story.totals);
}

#[tokio::test]
async fn a_batch_says_of_each_entry_what_became_of_it() {
    let (aws, sqs, url) = endpoint().await;
    let entry = |id: &str, body: &str| {
        SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().unwrap()
    };
    let entries = vec![entry("a", "1"), entry("b", "\u{0}"), entry("c", "3")];
    let sent = sqs.send_message_batch().queue_url(&url).set_entries(Some(entries)).send().await.unwrap();
    let ids: Vec<_> = sent.successful().iter().map(|entry| entry.id()).collect();
    assert_eq!(ids, ["a", "c"]);
    let [refused] = sent.failed() else { panic!("one is refused: {sent:?}") };
    assert_eq!((refused.id(), refused.code(), refused.sender_fault()), ("b", "InvalidMessageContents", true));

    let received = loopback::receive(&sqs, &url, 2).await;
    let handles: Vec<_> = received.iter().map(|message| message.receipt_handle().unwrap()).collect();
    let show = |id: &str, handle: &str| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(id).receipt_handle(handle);
        entry.visibility_timeout(0).build().unwrap()
    };
    let entries = vec![show("a", handles[0]), show("b", "garbage")];
    let shown = sqs
        .change_message_visibility_batch()
        .queue_url(&url)
        .set_entries(Some(entries))
        .send()
        .await
        .unwrap();
    assert_eq!((shown.successful().len(), shown.successful()[0].id()), (1, "a"));
    assert_eq!((shown.failed().len(), shown.failed()[0].code()), (1, "ReceiptHandleIsInvalid"));

    let gone = |id: &str, handle: &str| {
        DeleteMessageBatchRequestEntry::builder().id(id).receipt_handle(handle).build().unwrap()
    };
    let entries = vec![gone("a", handles[0]), gone("b", handles[1]), gone("c", "garbage")];
    let deleted = sqs.delete_message_batch().queue_url(&url).set_entries(Some(entries)).send().await.unwrap();
    let (done, failed) = (deleted.successful().len(), deleted.failed().len());
    assert_eq!((done, failed, deleted.failed()[0].id()), (2, 1, "c"));
    assert_eq!(sqs.receive_message().queue_url(&url).send().await.unwrap().messages, None);
    aws.close().await;
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
