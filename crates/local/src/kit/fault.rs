//! What can go wrong with a call to AWS.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::TestAws;

/// What happens to a call instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is refused with a server error, which clients try again.
    Refused,
    /// It is throttled, which clients try again.
    Throttled,
    /// The role has no permission.
    Denied,
    /// There is never an answer, and nothing was done.
    Hangs,
    /// It was done, but there is never an answer.
    AnswerLost,
    /// It was done at once, and the answer comes after this long.
    AnswerLate(Duration),
    /// It is done after this long, although nobody may wait for it any more.
    Slow(Duration),
    /// It was done twice.
    Twice,
    /// The answer is empty, and nothing was done.
    Blank,
    /// Every second entry of a batch fails at the service. A call without entries is done.
    HalfFails,
}

impl Fault {
    /// What the client gets.
    pub(super) async fn answer(self, aws: &TestAws, request: Request<Bytes>) -> Response<Bytes> {
        match self {
            Self::Refused => refusal(500, "InternalFailure"),
            Self::Throttled => refusal(400, "RequestThrottled"),
            Self::Denied => refusal(403, "AccessDeniedException"),
            Self::Hangs => std::future::pending().await,
            Self::AnswerLost => {
                aws.answer(&request).await;
                std::future::pending().await
            }
            Self::AnswerLate(after) => {
                let response = aws.answer(&request).await;
                sleep(after).await;
                response
            }
            Self::Slow(after) => {
                let aws = aws.clone();
                let done = tokio::spawn(async move {
                    sleep(after).await;
                    aws.answer(&request).await
                });
                done.await.expect("an answer is no panic")
            }
            Self::Twice => {
                aws.answer(&request).await;
                aws.answer(&request).await
            }
            Self::Blank => Response::new("{}".into()),
            Self::HalfFails => half(aws, request).await,
        }
    }
}

fn refusal(status: u16, code: &str) -> Response<Bytes> {
    let body = json!({ "__type": code, "message": "a fault of the test" }).to_string();
    let response = Response::builder()
        .status(status)
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amzn-query-error", format!("{code};Sender"));
    response.body(body.into()).expect("the headers are valid")
}

/// Does every other entry, and says that the rest failed.
async fn half(aws: &TestAws, mut request: Request<Bytes>) -> Response<Bytes> {
    let entries =
        |body: &mut Value| body.get_mut("Entries").and_then(Value::as_array_mut).map(std::mem::take);
    let Ok(mut body) = serde_json::from_slice::<Value>(request.body()) else {
        return aws.answer(&request).await;
    };
    let Some(entries) = entries(&mut body) else { return aws.answer(&request).await };
    let (failing, done): (Vec<_>, Vec<_>) = entries.into_iter().enumerate().partition(|(at, _)| at % 2 == 1);
    let failed = failing.iter().map(|(_, entry)| {
        json!({ "Id": entry["Id"], "SenderFault": false, "Code": "InternalError", "Message": "a fault of the test" })
    });
    body["Entries"] = done.into_iter().map(|(_, entry)| entry).collect();
    *request.body_mut() = body.to_string().into();
    let response = aws.answer(&request).await;
    let mut answer: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    answer["Failed"] = failed.collect();
    response.map(|_| answer.to_string().into())
}
