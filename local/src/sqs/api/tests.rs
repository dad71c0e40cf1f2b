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
fn a_queue_is_known_by_the_end_of_its_url_and_its_url_has_the_host_of_the_request() {
    let mut client = client();
    let answer = client.ask("GetQueueUrl", json!({ "QueueName": "q" }));
    assert_eq!(answer["QueueUrl"], "http://127.0.0.1:4566/123456789012/q");
    for url in ["q", "https://sqs.eu-west-1.amazonaws.com/999/q", "http://127.0.0.1:1/1/q/"] {
        client.ask("GetQueueAttributes", json!({ "QueueUrl": url }));
    }
}

#[test]
fn a_queue_of_another_account_is_not_there() {
    let mut client = client();
    let ask = |owner: &str| json!({ "QueueName": "q", "QueueOwnerAWSAccountId": owner });
    assert_eq!(
        client.ask("GetQueueUrl", ask("123456789012"))["QueueUrl"],
        "http://127.0.0.1:4566/123456789012/q"
    );
    assert!(client.refused("GetQueueUrl", ask("999999999999")).code.ends_with("NonExistentQueue"));
    let form = client.form("Action=GetQueueUrl&QueueName=q&QueueOwnerAWSAccountId=999999999999");
    assert!(form.starts_with("400 ") && form.contains("NonExistentQueue"), "{form}");
}

#[test]
fn an_answer_in_xml_has_a_result_and_metadata_or_metadata_only() {
    let mut client = client();
    assert_eq!(
        client.form("Action=GetQueueUrl&QueueName=q"),
        "200 <GetQueueUrlResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><GetQueueUrlResult>\
         <QueueUrl>http://127.0.0.1:4566/123456789012/q</QueueUrl></GetQueueUrlResult><ResponseMetadata>\
         <RequestId>-</RequestId></ResponseMetadata></GetQueueUrlResponse>"
    );
    assert_eq!(
        client.form("Action=PurgeQueue&QueueUrl=q"),
        "200 <PurgeQueueResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><ResponseMetadata>\
         <RequestId>-</RequestId></ResponseMetadata></PurgeQueueResponse>"
    );
}

#[test]
fn an_error_in_xml_has_type_code_message_and_the_words_of_this_protocol() {
    let mut client = client();
    assert_eq!(
        client.form("Action=PurgeQueue&QueueUrl=none"),
        "400 <ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error><Type>Sender</Type>\
         <Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist for \
         this wsdl version.</Message><Detail/></Error><RequestId>-</RequestId></ErrorResponse>"
    );
    client.form("Action=PurgeQueue&QueueUrl=q");
    assert!(client.form("Action=PurgeQueue&QueueUrl=q").starts_with("403 "));
    assert!(client.form("Action=Dance").contains("<Code>InvalidAction</Code>"));
}

#[test]
fn what_xml_would_change_is_escaped_and_what_it_cannot_say_replaced() {
    let mut client = client();
    client.form("Action=SendMessage&QueueUrl=q&MessageBody=%3Ca%3E%26%0D%0A");
    let answer = client.form("Action=ReceiveMessage&QueueUrl=q");
    assert!(answer.contains("<Body>&lt;a&gt;&amp;&#13;\n</Body>"), "{answer}");
    let refused = client.form("Action=SendMessage&QueueUrl=q&MessageBody=a&MessageGroupId=%01");
    assert!(refused.contains("Value \u{fffd} for parameter MessageGroupId"), "{refused}");
}
