use http::Request;
use serde_json::json;

use super::testing::client;

#[test]
fn a_form_is_for_sqs_by_its_version_or_by_its_action() {
    let named = |form: &str| {
        let request = Request::get(format!("/1/q?{form}")).body(bytes::Bytes::new()).unwrap();
        super::SERVICE.read(&request).map(|call| call.operation)
    };
    assert_eq!(named("Action=SendMessage&Version=2012-11-05").as_deref(), Some("SendMessage"));
    assert_eq!(named("Version=2012-11-05&Action=Dance").as_deref(), Some("Dance"));
    assert_eq!(named("Action=ListQueues").as_deref(), Some("ListQueues"));
    assert_eq!(named("Action=PutMetricData"), None);
    assert_eq!(named("Action=ListQueues&Version=2010-08-01"), None);
    assert_eq!(named("Version=2012-11-05"), None);
}

#[test]
fn a_body_that_is_no_json_or_of_another_type_is_refused() {
    for body in ["", "[", "7", r#"{"QueueUrl": 7}"#] {
        let request = Request::post("/").header("x-amz-target", "AmazonSQS.SendMessage");
        let (response, _) = client().send(request, body);
        assert_eq!(response.status(), 400, "{body}");
    }
}

#[test]
fn a_queue_is_found_by_the_path_of_its_url_and_named_by_the_clients_host() {
    let mut client = client();
    let answer = client.ask("GetQueueUrl", json!({ "QueueName": "q" }));
    assert_eq!(answer["QueueUrl"], "http://127.0.0.1:4566/123456789012/q");
    for url in ["q", "https://sqs.eu-west-1.amazonaws.com/999/q", "http://127.0.0.1:1/1/q/"] {
        client.ask("GetQueueAttributes", json!({ "QueueUrl": url }));
    }
}
