//! `redrive local` at a high speed: a client's messages stay invisible as long as they would on AWS.

use std::time::Duration;

use aws_sdk_sqs::types::MessageSystemAttributeName;

use crate::support::running::{Running, built, free_port, root, wait_for};
use crate::support::{REGION, Ran, client, command_at};

/// An hour and a half passes in a third of a second, and the 60 s that the dead-letter verbs hide letters in 3 ms.
const SPEED: &str = "20000";

#[test]
fn letters_stay_with_those_who_have_received_them() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}");
    let arguments = ["--port", &port.to_string(), "--stack", "shop", "--region", REGION, "--speed", SPEED];
    let running = Running::start(&root(), &built("orders"), &arguments);
    wait_for(port);
    let (sqs, dead) = (client(&url, REGION), format!("{url}/000000000000/shop-orders-dead"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let receive = || {
        let call = sqs.receive_message().queue_url(&dead).visibility_timeout(60).max_number_of_messages(10);
        let call = call.message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount);
        runtime.block_on(call.send()).expect("it answers").messages.unwrap_or_default()
    };
    for body in 0..3 {
        runtime.block_on(sqs.send_message().queue_url(&dead).message_body(body.to_string()).send()).unwrap();
    }
    let line = "dlq retry --queue shop-orders --to shop-orders --dry-run";
    let ran = Ran::of(&mut command_at(&url, line));
    ran.told(0, "").stdout_ends("3 would be sent from shop-orders-dead to shop-orders\n");
    let told = ran.stdout.lines().take_while(|line| !line.is_empty()).count();
    assert_eq!(told, 3, "each is reported once: {ran:?}");
    let received = receive();
    let counts = received.iter().filter_map(|message| message.attributes.as_ref()?.values().next().cloned());
    assert_eq!(counts.collect::<Vec<_>>(), ["2", "2", "2"]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(receive(), [], "60 s are not over");
    for message in received {
        let delete = sqs.delete_message().queue_url(&dead).receipt_handle(message.receipt_handle.unwrap());
        runtime.block_on(delete.send()).expect("it is deleted");
    }
    drop(running);
}
