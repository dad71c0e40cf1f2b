use bytes::Bytes;
use http::Request;
use serde_json::json;

use super::call::Syntax;
use super::query_json;
use crate::cloudwatch::api as cloudwatch;
use crate::sqs::api as sqs;

#[test]
fn in_json_only_sqs_has_a_list_of_messages_in_lower_case() {
    let answer = |query, operation| {
        let result = query_json::result(query, operation, &json!({ "Messages": [], "Label": "a \"b\"" }));
        let answer = query_json::success(operation, &result, "id-1");
        serde_json::from_slice::<serde_json::Value>(&answer).unwrap()
    };
    for (query, operation, messages) in [
        (cloudwatch::SERVICE.query.as_ref(), "GetMetricData", "Messages"),
        (sqs::SERVICE.query.as_ref(), "ReceiveMessage", "messages"),
    ] {
        let expected = json!({ (format!("{operation}Response")): {
            (format!("{operation}Result")): { messages: [], "Label": "a \"b\"" },
            "ResponseMetadata": { "RequestId": "id-1" },
        } });
        assert_eq!(answer(query.unwrap(), operation), expected);
    }
    let nothing = query_json::success("PutMetricData", &Bytes::new(), "id-1");
    assert_eq!(nothing, r#"{"PutMetricDataResponse":{"ResponseMetadata":{"RequestId":"id-1"}}}"#);
}

#[test]
fn clients_that_accept_json_among_others_get_json() {
    let is_json = |headers: &[&str]| {
        let request =
            headers.iter().fold(Request::get("/"), |request, accepted| request.header("accept", *accepted));
        matches!(Syntax::accepted_by(&request.body(Bytes::new()).unwrap()), Syntax::Json)
    };
    for headers in [
        &["application/json"][..],
        &["APPLICATION/JSON"],
        &["application/json; charset=utf-8"],
        &["text/html, application/json;q=0.5"],
        &["text/html", "application/json"],
    ] {
        assert!(is_json(headers), "{headers:?}");
    }
    for headers in
        [&[][..], &["*/*"], &["text/xml"], &["application/jsonx"], &["application/json+x"], &["json"]]
    {
        assert!(!is_json(headers), "{headers:?}");
    }
}
