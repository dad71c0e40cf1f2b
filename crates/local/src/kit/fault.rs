//! Faults of calls to AWS.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::TestAws;

/// A fault of a call to AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// AWS refuses the call with a server error. Clients try it again.
    Refused,
    /// AWS throttles the call. Clients try it again.
    Throttled,
    /// AWS refuses the call, because the role has no permission.
    Denied,
    /// No answer ever arrives, and nothing was done.
    Hangs,
    /// The call was carried out, but no answer ever arrives.
    AnswerLost,
    /// The call was carried out at once, and the answer arrives after this time.
    AnswerLate(Duration),
    /// The call is carried out after this time, even if nobody waits for it any more.
    Slow(Duration),
    /// The call was carried out twice.
    Twice,
    /// The answer is empty, and nothing was done.
    Blank,
    /// Every second entry of a batch fails at the service. A call without entries succeeds.
    HalfFails,
}

impl Fault {
    /// Returns the client's answer.
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

/// Carries out every other entry, and reports the rest as failed.
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
