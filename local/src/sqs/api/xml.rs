//! Answers of the query protocol: XML, made of what JSON would say.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use quick_xml::Writer;
use quick_xml::escape::minimal_escape;
use quick_xml::events::{BytesText, Event};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::names;
use crate::queue::{ErrorKind, SqsError, is_character};

const NAMESPACE: &str = "http://queue.amazonaws.com/doc/2012-11-05/";

type Xml = Writer<Vec<u8>>;

/// The `…Result` element, which only operations with an output have.
pub(super) fn result(operation: &str, output: &Value) -> Bytes {
    let mut xml = Writer::new(Vec::new());
    element(&mut xml, &format!("{operation}Result"), |xml| {
        if let Value::Object(output) = output {
            structure(xml, output, operation);
        }
    });
    Bytes::from(xml.into_inner())
}

pub(super) fn success(operation: &str, result: &Bytes) -> Response<Bytes> {
    respond(StatusCode::OK, &format!("{operation}Response"), |xml, request_id| {
        xml.get_mut().extend_from_slice(result);
        let metadata = json!({ "ResponseMetadata": { "RequestId": request_id } });
        metadata.as_object().into_iter().for_each(|metadata| structure(xml, metadata, operation));
    })
}

/// The queue that is not there is missing "for this wsdl version", as it has always been in this protocol.
pub(super) fn failure(error: &SqsError) -> Response<Bytes> {
    respond(error.status(), "ErrorResponse", |xml, request_id| {
        let message = match error.kind() {
            ErrorKind::QueueDoesNotExist => {
                "The specified queue does not exist for this wsdl version.".into()
            }
            _ => error.to_string(),
        };
        element(xml, "Error", |xml| {
            for (name, value) in
                [("Type", "Sender"), ("Code", error.code()), ("Message", &message), ("Detail", "")]
            {
                element(xml, name, |xml| text(xml, value));
            }
        });
        element(xml, "RequestId", |xml| text(xml, request_id));
    })
}

fn respond(status: StatusCode, root: &str, content: impl FnOnce(&mut Xml, &str)) -> Response<Bytes> {
    let request_id = Uuid::new_v4().to_string();
    let mut xml = Writer::new(Vec::new());
    let element = xml.create_element(root).with_attribute(("xmlns", NAMESPACE));
    let written = element.write_inner_content(|xml| {
        content(xml, &request_id);
        Ok(())
    });
    written.map(drop).expect(MEMORY);
    let mut response = Response::new(Bytes::from(xml.into_inner()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/xml"));
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        headers.insert("x-amzn-requestid", id);
    }
    response
}

fn structure(xml: &mut Xml, members: &Map<String, Value>, operation: &str) {
    for (name, value) in members {
        match (value, names::entry_of(name)) {
            (Value::Object(map), Some((entry, key))) => {
                for (name, value) in map {
                    element(xml, entry, |xml| {
                        element(xml, key, |xml| text(xml, name));
                        element(xml, "Value", |xml| content(xml, value, operation));
                    });
                }
            }
            (Value::Array(items), _) => {
                let name = names::element_of(name, operation);
                for item in items {
                    element(xml, &name, |xml| content(xml, item, operation));
                }
            }
            _ => element(xml, name, |xml| content(xml, value, operation)),
        }
    }
}

fn content(xml: &mut Xml, value: &Value, operation: &str) {
    match value {
        Value::Object(members) => structure(xml, members, operation),
        Value::String(value) => text(xml, value),
        value => text(xml, &value.to_string()),
    }
}

fn element(xml: &mut Xml, name: &str, content: impl FnOnce(&mut Xml)) {
    let written = xml.create_element(name).write_inner_content(|xml| {
        content(xml);
        Ok(())
    });
    written.map(drop).expect(MEMORY);
}

/// A parser would turn a carriage return into a line feed. What XML cannot say at all, as in a parameter that an error
/// message quotes, is replaced.
fn text(xml: &mut Xml, text: &str) {
    let text = minimal_escape(text).replace('>', "&gt;").replace('\r', "&#13;");
    let text = text.replace(|char| !is_character(char), "\u{fffd}");
    xml.write_event(Event::Text(BytesText::from_escaped(text))).expect(MEMORY);
}

const MEMORY: &str = "writing to memory cannot fail";

#[cfg(test)]
mod tests {
    use super::super::testing::World;

    #[test]
    fn an_answer_has_a_result_and_metadata_or_metadata_only() {
        let mut world = World::new();
        let answer = world.form("Action=GetQueueUrl&QueueName=q");
        assert_eq!(
            answer,
            "200 <GetQueueUrlResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><GetQueueUrlResult>\
             <QueueUrl>http://127.0.0.1:4566/123456789012/q</QueueUrl></GetQueueUrlResult><ResponseMetadata>\
             <RequestId>-</RequestId></ResponseMetadata></GetQueueUrlResponse>"
        );
        assert_eq!(
            world.form("Action=PurgeQueue&QueueUrl=q"),
            "200 <PurgeQueueResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><ResponseMetadata>\
             <RequestId>-</RequestId></ResponseMetadata></PurgeQueueResponse>"
        );
    }

    #[test]
    fn an_error_has_type_code_message_and_the_words_of_this_protocol() {
        let mut world = World::new();
        assert_eq!(
            world.form("Action=PurgeQueue&QueueUrl=none"),
            "400 <ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error><Type>Sender</Type>\
             <Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist for \
             this wsdl version.</Message><Detail></Detail></Error><RequestId>-</RequestId></ErrorResponse>"
        );
        world.form("Action=PurgeQueue&QueueUrl=q");
        assert!(world.form("Action=PurgeQueue&QueueUrl=q").starts_with("403 "));
        assert!(world.form("Action=Dance").contains("<Code>InvalidAction</Code>"));
    }

    #[test]
    fn what_xml_would_change_is_escaped_and_what_it_cannot_say_replaced() {
        let mut world = World::new();
        world.form("Action=SendMessage&QueueUrl=q&MessageBody=%3Ca%3E%26%0D%0A");
        let answer = world.form("Action=ReceiveMessage&QueueUrl=q");
        assert!(answer.contains("<Body>&lt;a&gt;&amp;&#13;\n</Body>"), "{answer}");
        let refused = world.form("Action=SendMessage&QueueUrl=q&MessageBody=a&MessageGroupId=%01");
        assert!(refused.contains("Value \u{fffd} for parameter MessageGroupId"), "{refused}");
    }

    #[test]
    fn maps_and_lists_are_repeated_elements() {
        let mut world = World::new();
        world.form(
            "Action=SendMessage&QueueUrl=q&MessageBody=b&MessageAttribute.1.Name=n\
             &MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AP8%3D",
        );
        let answer = world.form(
            "Action=ReceiveMessage&QueueUrl=q&AttributeName.1=ApproximateReceiveCount&MessageAttributeName.1=All",
        );
        for part in [
            "<ReceiveMessageResult><Message>",
            "<Attribute><Name>ApproximateReceiveCount</Name><Value>1</Value></Attribute>",
            "<MessageAttribute><Name>n</Name><Value><BinaryValue>AP8=</BinaryValue><DataType>Binary</DataType>\
             </Value></MessageAttribute>",
        ] {
            assert!(answer.contains(part), "{part} in {answer}");
        }
        let answer = world.form(
            "Action=DeleteMessageBatch&QueueUrl=q&DeleteMessageBatchRequestEntry.1.Id=x\
             &DeleteMessageBatchRequestEntry.1.ReceiptHandle=none",
        );
        for part in ["<BatchResultErrorEntry>", "<Code>ReceiptHandleIsInvalid</Code>", "<Id>x</Id>"] {
            assert!(answer.contains(part), "{part} in {answer}");
        }
        let answer = world.form("Action=ListQueues&QueueNamePrefix=f");
        assert!(answer.contains("<ListQueuesResult><QueueUrl>http"), "{answer}");
    }
}
