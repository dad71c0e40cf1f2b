//! Attributes that a letter keeps and loses when it is sent back.

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
fn letters_of_a_mebibyte_go_one_by_one() {
    let aws = Aws::with_orders(false);
    for letter in ["a", "b", "c"] {
        aws.sent_here(&letter.repeat(1_048_576), []);
    }
    aws.redrive("dlq retry --queue orders --to orders --yes")
        .printed(0, "3 sent from orders-dead to orders, 3 without redrive.origin\n");
    assert_eq!(distinct(&bodies(&aws, ORDERS)), 3);
}

#[test]
fn a_fifo_message_that_dies_again_in_five_minutes_is_not_swallowed() {
    let aws = Aws::with_orders(true);
    let url = aws.queue_url("orders.fifo");
    let send = aws.sqs.send_message().queue_url(&url).message_body("b").message_group_id("g");
    let sent = aws.wait(send.message_deduplication_id("of-the-sender").send()).unwrap();
    let mut ids = vec![];
    for life in 1..=3 {
        // Its last delivery is over, and SQS moves it.
        for _ in 0..4 {
            aws.wait(aws.sqs.receive_message().queue_url(&url).visibility_timeout(0).send()).unwrap();
        }
        aws.redrive("dlq retry --queue orders.fifo --yes")
            .printed(0, "1 sent from orders-dead.fifo to orders.fifo\n");
        assert_eq!(aws.counts("orders.fifo"), (1, 0), "life {life}");
        let look = aws.sqs.receive_message().queue_url(&url).visibility_timeout(0);
        let look = look.message_system_attribute_names(MessageSystemAttributeName::All);
        let seen = aws.wait(look.send()).unwrap().messages.unwrap().remove(0);
        let system = seen.attributes.unwrap();
        assert_eq!(system[&MessageSystemAttributeName::MessageGroupId], "g");
        ids.push(system[&MessageSystemAttributeName::MessageDeduplicationId].clone());
    }
    assert_eq!(ids[0], format!("{}-1", sent.message_id.unwrap()));
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
}
