use http::Request;
use serde_json::{Value, json};

use super::testing::client;
use crate::protocol::testing::{accepted, refused};

#[test]
fn an_operation_is_known_by_its_target() {
    let is_sqs = |request: http::request::Builder| {
        super::SERVICE.read(&request.body(bytes::Bytes::new()).unwrap()).is_some()
    };
    assert!(is_sqs(Request::post("/").header("x-amz-target", "AmazonSQS.SendMessage")));
    assert!(!is_sqs(
        Request::post("/").header("x-amz-target", "GraniteServiceVersion20100801.PutMetricData")
    ));
    assert!(!is_sqs(Request::post("/")));
}

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
fn an_unknown_operation_is_refused_by_name() {
    let error = client().refused("Dance", json!({}));
    assert_eq!(error.code, "InvalidAction");
    assert!(error.message.contains("action Dance is"), "{}", error.message);
}

#[test]
fn an_error_has_shape_message_status_and_the_header_of_the_query_protocol() {
    let (response, _) = client().call("ReceiveMessage", json!({ "QueueUrl": "http://h/1/none" }));
    let header = &response.headers()["x-amzn-query-error"];
    assert_eq!(header, "AWS.SimpleQueueService.NonExistentQueue;Sender");
    let error = refused(&response);
    assert_eq!((error.status, error.shape.as_str()), (400, "QueueDoesNotExist"));
    assert_eq!(error.message, "The specified queue does not exist.");
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
fn a_missing_parameter_is_named() {
    let error = client().refused("SendMessage", json!({ "MessageBody": "a" }));
    assert_eq!(error.code, "MissingParameter");
    assert_eq!(error.message, "The request must contain the parameter QueueUrl.");
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
fn a_form_may_name_the_queue_by_its_path_unless_a_parameter_does() {
    let mut client = client();
    let send = "Action=SendMessage&Version=2012-11-05&MessageBody=tea";
    let form = |form: &str| Request::get(format!("/1/q?{send}{form}"));
    assert_eq!(client.send(form(""), "").0.status(), 200);
    assert_eq!(client.send(form("&QueueUrl=other"), "").0.status(), 400);
    assert_eq!(
        accepted(&client.call("ReceiveMessage", json!({ "QueueUrl": "q" })).0)["Messages"][0]["Body"],
        "tea"
    );
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

#[test]
fn who_accepts_json_gets_maps_as_lists_of_entries_and_errors_in_json() {
    let mut client = client();
    client.form("Action=SendMessage&QueueUrl=q&MessageBody=tea");
    let mut get = |path: &str| {
        let (response, _) = client.send(Request::get(path).header("accept", "application/json"), "");
        let mut answer: Value = serde_json::from_slice(response.body()).unwrap();
        let metadata = answer.pointer_mut("/ReceiveMessageResponse/ResponseMetadata/RequestId");
        metadata.map(Value::take).or(answer.get_mut("RequestId").map(Value::take)).unwrap();
        (response.status().as_u16(), answer)
    };
    let (status, answer) =
        get("/123456789012/q?Action=ReceiveMessage&AttributeName.1=ApproximateReceiveCount");
    let message = &answer["ReceiveMessageResponse"]["ReceiveMessageResult"]["messages"][0];
    assert_eq!((status, &message["Body"]), (200, &json!("tea")));
    assert_eq!(message["Attributes"], json!([{ "Name": "ApproximateReceiveCount", "Value": "1" }]));
    let message = "The action ListQueues is not valid for this endpoint.";
    let error = json!({ "Type": "Sender", "Code": "InvalidAction", "Message": message });
    assert_eq!(get("/123456789012/q?Action=ListQueues"), (400, json!({ "Error": error, "RequestId": null })));
}

#[test]
fn maps_and_lists_are_repeated_elements() {
    let mut client = client();
    client.form(
        "Action=SendMessage&QueueUrl=q&MessageBody=b&MessageAttribute.1.Name=n\
         &MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AP8%3D",
    );
    let answer = client.form(
        "Action=ReceiveMessage&QueueUrl=q&MaxNumberOfMessages=7&AttributeName.1=ApproximateReceiveCount\
         &MessageAttributeName.1=All",
    );
    for part in [
        "<ReceiveMessageResult><Message>",
        "<Attribute><Name>ApproximateReceiveCount</Name><Value>1</Value></Attribute>",
        "<MessageAttribute><Name>n</Name><Value><BinaryValue>AP8=</BinaryValue><DataType>Binary</DataType>\
         </Value></MessageAttribute>",
    ] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
    let answer = client.form(
        "Action=DeleteMessageBatch&QueueUrl=q&DeleteMessageBatchRequestEntry.1.Id=x\
         &DeleteMessageBatchRequestEntry.1.ReceiptHandle=none",
    );
    for part in ["<BatchResultErrorEntry>", "<Code>ReceiptHandleIsInvalid</Code>", "<Id>x</Id>"] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
    let answer = client.form("Action=ListQueues&QueueNamePrefix=f");
    assert!(answer.contains("<ListQueuesResult><QueueUrl>http"), "{answer}");
}
