//! What a letter keeps, and what it loses, on its way back.

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    Message, MessageAttributeValue, MessageSystemAttributeName, MessageSystemAttributeNameForSends,
    MessageSystemAttributeValue,
};
use redrive::Origin;

use super::letters::{DEAD, ORDERS, bodies, distinct, note, take, text};
use crate::support::Aws;

const TRACE: &str = "Root=1-5e1b4151-5ac6c58dc39a6b6d4e0f1c2d;Parent=53995c3f42cd8ad8;Sampled=1";

fn retry(aws: &Aws) -> Message {
    let ran = aws.redrive("dlq retry --queue orders --yes");
    ran.ended(0);
    let mut arrived = take(aws, ORDERS);
    assert_eq!(arrived.len(), 1, "{}{}", ran.stdout, ran.stderr);
    arrived.remove(0)
}

fn origin(message: &Message) -> Origin {
    let attribute = &message.message_attributes.as_ref().unwrap()[Origin::ATTRIBUTE];
    serde_json::from_str(attribute.string_value().unwrap()).unwrap()
}

/// Sends a message to the dead letters as it came, with a note, as the function would.
fn dies_again(aws: &Aws, message: &Message) {
    let mut attributes = message.message_attributes.clone().unwrap_or_default();
    let id = message.message_id.as_deref().unwrap();
    attributes.insert("redrive.dead-letter".to_owned(), note(id, "rejected"));
    let letter =
        aws.sqs.send_message().queue_url(aws.queue_url(DEAD)).message_body(message.body.clone().unwrap());
    aws.wait(letter.set_message_attributes(Some(attributes)).send()).unwrap();
}

#[test]
fn attributes_group_and_trace_survive_and_the_note_becomes_an_origin() {
    let aws = Aws::with_orders(false);
    let binary =
        MessageAttributeValue::builder().data_type("Binary.gzip").binary_value(Blob::new([0, 159, 255]));
    let number = MessageAttributeValue::builder().data_type("Number").string_value("-1.50").build().unwrap();
    let trace =
        MessageSystemAttributeValue::builder().data_type("String").string_value(TRACE).build().unwrap();
    let body = "{ \"price\": 1.10,\n\t\"name\": \"Zoë \u{1f600}\" }  ";
    let letter = aws
        .sqs
        .send_message()
        .queue_url(aws.queue_url(DEAD))
        .message_body(body)
        .message_group_id("tenant-7")
        .message_attributes("source", text("web"))
        .message_attributes("blob", binary.build().unwrap())
        .message_attributes("number", number.clone())
        .message_attributes("redrive.dead-letter", note("m1", "rejected"))
        .message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, trace);
    aws.wait(letter.send()).unwrap();
    let message = retry(&aws);
    assert_eq!(message.body.as_deref(), Some(body));
    let attributes = message.message_attributes.clone().unwrap();
    let mut names: Vec<_> = attributes.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["blob", "number", Origin::ATTRIBUTE, "source"]);
    assert_eq!(attributes["blob"].binary_value(), Some(&Blob::new([0, 159, 255])));
    assert_eq!(attributes["blob"].data_type(), "Binary.gzip");
    assert_eq!(attributes["number"], number);
    let system = message.attributes.clone().unwrap();
    assert_eq!(system[&MessageSystemAttributeName::MessageGroupId], "tenant-7");
    assert_eq!(system[&MessageSystemAttributeName::AwsTraceHeader], TRACE);
    assert_eq!((origin(&message).message_id.as_str(), origin(&message).redrives), ("m1", 1));
}

#[test]
fn redrives_are_counted_through_all_lives_of_a_message() {
    let aws = Aws::with_orders(false);
    aws.letter_with("b", [("redrive.dead-letter", note("m1", "panic"))]);
    for redrives in 1..=3 {
        let message = retry(&aws);
        assert_eq!((origin(&message).message_id.as_str(), origin(&message).redrives), ("m1", redrives));
        assert_eq!(message.message_attributes.as_ref().unwrap().len(), 1);
        dies_again(&aws, &message);
    }
}

#[test]
fn a_letter_that_sqs_moved_goes_back_too() {
    let aws = Aws::with_orders(false);
    let (first, url) = (aws.send(ORDERS, "b"), aws.queue_url(ORDERS));
    for _ in 0..4 {
        aws.wait(aws.sqs.receive_message().queue_url(&url).visibility_timeout(0).send()).unwrap();
    }
    let message = retry(&aws);
    assert_eq!((origin(&message).message_id, origin(&message).redrives), (first.clone(), 1));
    assert_ne!(message.message_id, Some(first));
}

#[test]
fn letters_of_a_mebibyte_go_one_by_one() {
    let aws = Aws::with_orders(false);
    for letter in ["a", "b", "c"] {
        aws.letter(&letter.repeat(1_048_576));
    }
    aws.redrive("dlq retry --queue orders --yes")
        .printed(0, "3 sent from orders-dead to orders, 3 without redrive.origin\n");
    assert_eq!(distinct(&bodies(&aws, ORDERS)), 3);
}
