//! Tests the calls and errors of the store, with the real client and a server on loopback. `tests/checks` checks the written
//! items, with the tables of emulators.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod server;

use std::time::Duration;

use aws_sdk_dynamodb::config::{retry::RetryConfig, timeout::TimeoutConfig};
use futures_util::future::join_all;
use redrive::once::{Change, Claim, Claimed, End, Store};
use redrive::reexports::{aws_lambda_events::sqs::SqsEvent, tokio::time::Instant};
use redrive::tokens::{Bucket, Tokens};
use redrive::{Consumer, Failure, Rate};
use redrive_dynamodb::{DynamoDb, aws_sdk_dynamodb};
use serde_json::{Value, json};

use crate::server::{Server, config};

fn event(records: usize) -> SqsEvent {
    let record = |n: usize| {
        json!({
            "messageId": format!("message-{n}"),
            "receiptHandle": format!("receipt-{n}"),
            "body": n.to_string(),
            "attributes": { "ApproximateReceiveCount": "1" },
            "messageAttributes": {},
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
            "awsRegion": "eu-west-1",
        })
    };
    serde_json::from_value(json!({ "Records": (0..records).map(record).collect::<Vec<_>>() })).unwrap()
}

/// Ten messages run at a time, which is the default, and the server answers no call before all ten have arrived. So the batch
/// waits for two answers.
#[tokio::test]
async fn ten_messages_wait_for_two_answers() {
    let server = Server::that_answers_ten_at_a_time().await;
    let place = |_: u64| async { Ok::<_, Failure>(()) };
    let consumer = Consumer::new(place).once(DynamoDb::new(server.client(), "idempotency"));
    let handled = consumer.handle(event(10), Instant::now() + Duration::from_secs(20)).await.unwrap();
    assert!(handled.batch_item_failures.is_empty(), "{handled:?}");
    assert_eq!(server.calls(), [["PutItem"; 10], ["UpdateItem"; 10]].concat());
}

#[tokio::test]
async fn a_claim_says_its_condition_and_asks_for_the_item() {
    let server = Server::that_answers(200, "{}").await;
    let store = DynamoDb::new(server.client(), "idempotency").prefix("payments");
    assert_eq!(store.claim(&Claim::new("order-7", "a")).await.unwrap(), Claimed::Granted);
    let call = &server.bodies()[0];
    assert_eq!(call["TableName"], "idempotency");
    assert_eq!(call["Item"]["id"], json!({ "S": "payments#order-7" }));
    assert_eq!(call["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
    assert!(
        call["ConditionExpression"].as_str().unwrap().starts_with("attribute_not_exists(#id) OR "),
        "{call}"
    );
}

/// A key may change between the read and the claim, so a free one is claimed again.
#[tokio::test]
async fn a_key_that_keeps_changing_is_claimed_five_times() {
    let failed =
        json!({ "__type": "ConditionalCheckFailedException", "message": "The conditional request failed" });
    let server = Server::that_answers(400, &failed.to_string()).await;
    server.answers_to("GetItem", 200, "{}");
    let error = DynamoDb::new(server.client(), "idempotency").claim(&Claim::new("k", "a")).await.unwrap_err();
    assert_eq!(error.to_string(), "the item k of the table idempotency changes too often to be claimed");
    assert_eq!(server.calls(), [["PutItem", "GetItem"]; 5].concat());
}

#[tokio::test]
async fn errors_name_the_call_and_the_table_and_say_what_dynamodb_said() {
    let said = |code: &str, message: &str| json!({ "__type": code, "message": message }).to_string();
    let throttled = "ProvisionedThroughputExceededException";
    for (status, answer, expected) in [
        (400, said(throttled, "Too fast"), "ProvisionedThroughputExceededException: Too fast"),
        (
            400,
            said("com.amazonaws.dynamodb.v20120810#AccessDeniedException", "No"),
            "AccessDeniedException: No",
        ),
        (400, said("ResourceNotFoundException", "No table"), "ResourceNotFoundException: No table"),
        (502, "<html>".to_owned(), "HTTP status 502 without an error code"),
    ] {
        let server = Server::that_answers(status, &answer).await;
        let store = DynamoDb::new(server.client(), "idempotency");
        let error = store.claim(&Claim::new("k", "a")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("PutItem on the table idempotency: {expected}"));
        let end = Change::End { end: End::Done, keep: Duration::ZERO };
        let error = store.change("k", "a", &end).await.unwrap_err();
        assert_eq!(error.to_string(), format!("UpdateItem on the table idempotency: {expected}"));
    }
}

#[tokio::test]
async fn a_call_without_an_answer_ends() {
    let server = Server::that_hangs().await;
    let timeouts = TimeoutConfig::builder().operation_timeout(Duration::from_millis(50)).build();
    let client =
        aws_sdk_dynamodb::Client::from_conf(config(&server.endpoint).timeout_config(timeouts).build());
    let error = DynamoDb::new(client, "idempotency").claim(&Claim::new("k", "a")).await.unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("PutItem on the table idempotency: ") && error.contains("timeout"), "{error}");
}

#[tokio::test]
async fn an_item_of_another_layout_is_an_error_that_names_it() {
    let item = json!({ "id": { "S": "k" }, "status": { "S": "DONE" }, "expiration": { "N": "9999999999" } });
    let failed = |item: Value| json!({ "__type": "ConditionalCheckFailedException", "Item": item });
    // Some servers do not send the item along.
    for (answer, read) in [(failed(item.clone()), json!({})), (failed(Value::Null), json!({ "Item": item }))]
    {
        let server = Server::that_answers(400, &answer.to_string()).await;
        server.answers_to("GetItem", 200, &read.to_string());
        let store = DynamoDb::new(server.client(), "idempotency");
        let error = store.claim(&Claim::new("k", "a")).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the item k of the table idempotency has status \"DONE\", allowed: INPROGRESS, COMPLETED"
        );
    }
}

#[tokio::test]
async fn workers_lease_each_token_once() {
    let (server, rate) = (Server::that_keeps_an_item().await, Rate::per_hour(1).burst(1_000));
    let workers = (0..8).map(|_| {
        let bank = DynamoDb::new(server.client(), "idempotency").prefix("rates").tokens("bank");
        async move {
            let mut leased = 0;
            for _ in 0..60 {
                leased += bank.lease(7, &rate).await.unwrap().tokens();
            }
            leased
        }
    });
    let leased = join_all(workers).await;
    assert_eq!(leased.iter().sum::<u32>(), 1_000, "{leased:?}");
    assert!(server.calls().iter().all(|call| call == "UpdateItem"), "{:?}", server.calls());
    assert_eq!(server.bodies()[0]["Key"], json!({ "id": { "S": "rates#bank" } }));
}

/// The worker has the item already, and knows without a call that it has no token.
#[tokio::test]
async fn a_worker_that_knows_of_no_token_makes_no_call() {
    let (server, rate) = (Server::that_keeps_an_item().await, Rate::per_hour(1).burst(2));
    let bank = DynamoDb::new(server.client(), "idempotency").tokens("bank");
    let mut leased = Vec::new();
    for _ in 0..4 {
        leased.push(bank.lease(9, &rate).await.unwrap().tokens());
    }
    assert_eq!((leased, server.calls().len()), (vec![2, 0, 0, 0], 1));
}

#[tokio::test]
async fn a_lease_is_tried_five_times_while_others_are_first() {
    let rate = Rate::per_hour(1).burst(1_000);
    let item = json!({ "id": { "S": "bank" }, "level": { "N": "1000000000000" }, "at": { "N": "700" } });
    let failed = json!({ "__type": "ConditionalCheckFailedException", "Item": item });
    let server = Server::that_answers(400, &failed.to_string()).await;
    let bank = DynamoDb::new(server.client(), "idempotency").tokens("bank");
    let none = Bucket::full(&rate).lease(0, &rate, Duration::ZERO);
    assert_eq!(bank.lease(9, &rate).await.unwrap(), none, "it knows that there are tokens");
    let conditions: Vec<_> = server.bodies().iter().map(|body| body["ConditionExpression"].clone()).collect();
    assert_eq!(conditions[0], "attribute_not_exists(#id)");
    assert_eq!(conditions[1..], ["#level = :read_level AND #at = :read_at"; 4]);
    assert_eq!(server.bodies()[4]["ExpressionAttributeValues"][":read_at"], json!({ "N": "700" }));
}

/// A lost answer looks the same to the client.
#[tokio::test]
async fn a_lease_is_not_tried_again_after_an_error() {
    let server = Server::that_answers(500, "{}").await;
    let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(1));
    let client = aws_sdk_dynamodb::Client::from_conf(config(&server.endpoint).retry_config(retries).build());
    let store = DynamoDb::new(client, "idempotency");
    store.claim(&Claim::new("k", "a")).await.unwrap_err();
    assert_eq!(server.calls(), ["PutItem"; 3]);
    store.tokens("bank").lease(9, &Rate::per_second(50)).await.unwrap_err();
    assert_eq!(server.calls()[3..], ["UpdateItem"]);
}

#[tokio::test]
async fn a_lease_says_what_dynamodb_said() {
    let said = json!({ "__type": "ResourceNotFoundException", "message": "No table" });
    let server = Server::that_answers(400, &said.to_string()).await;
    let bank = DynamoDb::new(server.client(), "idempotency").tokens("bank");
    let error = bank.lease(9, &Rate::per_second(50)).await.unwrap_err();
    assert_eq!(error.to_string(), "UpdateItem on the table idempotency: ResourceNotFoundException: No table");
    let other = json!({ "__type": "ConditionalCheckFailedException", "Item": { "status": { "S": "DONE" } } });
    server.answers_to("UpdateItem", 400, &other.to_string());
    let error = bank.lease(9, &Rate::per_second(50)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the item bank of the table idempotency has no level, allowed: a whole number"
    );
    let item = json!({ "level": { "N": "0" }, "at": { "N": u64::MAX.to_string() } });
    let frozen = json!({ "__type": "ConditionalCheckFailedException", "Item": item });
    server.answers_to("UpdateItem", 400, &frozen.to_string());
    let error = bank.lease(9, &Rate::per_second(50)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the item bank of the table idempotency has at 18446744073709551615, allowed: at most 9223372036854775807"
    );
}

#[tokio::test]
async fn without_its_variable_the_error_names_it() {
    let server = Server::that_answers(200, "{}").await;
    let error = DynamoDb::from_env(server.client()).unwrap_err();
    let expected = "REDRIVE_IDEMPOTENCY_TABLE is not set, allowed: the name or the ARN of a table";
    // A `main` prints the second one.
    assert_eq!((error.to_string(), format!("{error:?}")), (expected.to_owned(), expected.to_owned()));
}
