//! Bodies that a sender stores in S3, and a consumer reads there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use redrive::{Consumer, Failure};
use redrive_local::kit::TestAws;
use redrive_s3::{Payloads, Uploads};
use redrive_send::{SendError, Sender};

use crate::store::client_of;

/// Returns the URL of an S3 that keeps what it is given, except for the bucket `locked`.
async fn bucket() -> String {
    let objects: Arc<Mutex<HashMap<String, Bytes>>> = Arc::default();
    let answer = async move |method: Method, uri: Uri, body: Bytes| {
        let path = uri.path().to_owned();
        if path.starts_with("/locked/") {
            return (StatusCode::FORBIDDEN, Bytes::from("<Error><Code>AccessDenied</Code></Error>"));
        }
        let mut objects = objects.lock().unwrap();
        match method {
            Method::PUT => {
                objects.insert(path, body);
                (StatusCode::OK, Bytes::new())
            }
            _ => objects
                .get(&path)
                .map_or((StatusCode::NOT_FOUND, Bytes::new()), |body| (StatusCode::OK, body.clone())),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    url
}

#[tokio::test]
async fn a_body_that_is_too_large_reaches_the_handler_by_s3() {
    let (aws, s3) = (TestAws::new(), client_of(bucket().await));
    let queue = aws.queue("documents").create();
    let uploads = Uploads::new(s3.clone(), "payloads").key_prefix("documents/");
    let sender = Sender::new(aws.sqs(), queue.url()).large_bodies(uploads);
    let lengths = [3, 2_000_000, 300_000];
    let results = sender.send_all(lengths.map(|length| "x".repeat(length))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");

    let taken: Arc<Mutex<Vec<usize>>> = Arc::default();
    let took = Arc::clone(&taken);
    let consumer = Consumer::new(move |document: String| {
        took.lock().unwrap().push(document.len());
        async { Ok::<_, Failure>(()) }
    });
    let consumer = consumer.sqs(aws.sqs()).bodies(Payloads::new(s3, ["payloads"]).key_prefix("documents/"));
    queue.invokes(|event, deadline| consumer.handle(event, deadline)).until_idle().await;
    let mut taken = taken.lock().unwrap().clone();
    taken.sort_unstable();
    assert_eq!(taken, [3, 300_000, 2_000_000]);
}

#[tokio::test]
async fn a_message_whose_body_cannot_be_stored_is_not_sent() {
    let (aws, s3) = (TestAws::new(), client_of(bucket().await));
    let queue = aws.queue("documents").create();
    let sender = Sender::new(aws.sqs(), queue.url()).large_bodies(Uploads::new(s3, "locked").threshold(10));
    let results = sender.send_all(["a long document", "short"]).await;
    assert!(matches!(&results[..], [Err(SendError::Body(_)), Ok(_)]), "{results:?}");
    let error = results[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("AccessDenied"), "{error}");
    assert_eq!(queue.messages().len(), 1);
}
