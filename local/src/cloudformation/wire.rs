//! The query protocol: a form in, XML out.
//! <https://smithy.io/2.0/aws/protocols/aws-query-protocol.html>

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use uuid::Uuid;

use super::form::{Asked, Form};
use super::refusal::Refusal;
use super::{CloudFormation, perform, xml};
use crate::clock::ClientClock;

/// Whether the request is for CloudFormation.
pub(crate) fn is_cloudformation(request: &Request<Bytes>) -> bool {
    Form::read(request).is_some()
}

/// Answers a request of a client with this clock, and names the operation.
pub(crate) fn answer(
    cloudformation: &CloudFormation,
    request: &Request<Bytes>,
    clock: ClientClock,
) -> (Response<Bytes>, String) {
    let form = Form::read(request);
    let name = form.as_ref().and_then(|form| form.get("Action")).unwrap_or_default().to_owned();
    let result = match (perform::operation(&name), form) {
        (Some(perform), Some(form)) => perform(&Asked { cloudformation, form, clock }),
        (None, _) | (_, None) => Err(Refusal::unknown(&name)),
    };
    let id = Uuid::new_v4().to_string();
    let (status, body) = match result {
        Ok(output) => (StatusCode::OK, xml::success(&name, &output, &id)),
        Err(refusal) => (StatusCode::BAD_REQUEST, xml::failure(&refusal, &id)),
    };
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "text/xml")
        .header("x-amzn-requestid", id)
        .body(body);
    (response.expect("the headers are valid"), name)
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;

    #[test]
    fn an_unknown_operation_is_refused_by_name() {
        let refused = World::new().refused("Action=CreateStack");
        assert!(refused.contains("<Code>InvalidAction</Code>"), "{refused}");
        assert!(
            refused.contains("redrive-local has no operation CreateStack of CloudFormation"),
            "{refused}"
        );
    }
}
