//! `redrive local --state`: queues and messages survive the death of the process.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::running::{Running, free_port, wait_for};
use crate::support::{Ran, client, command};

/// An endpoint with a state folder, killed when it is dropped, as by kill -9.
struct Service {
    _process: Running,
    sqs: Client,
    url: String,
}

impl Service {
    fn start(folder: &Path, port: u16) -> Self {
        Self::of(&["--empty"], folder, port)
    }

    fn of(queues: &[&str], folder: &Path, port: u16) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_redrive"))
            .arg("local")
            .args(queues)
            .args(["--port", &port.to_string(), "--state"])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = Running(child.expect("the command runs"));
        wait_for(port);
        let url = format!("http://localhost:{port}");
        Self {
            _process: process,
            sqs: client(&url, "us-east-1"),
            url: format!("{url}/000000000000/mails.fifo"),
        }
    }

    async fn create(&self) {
        let create = self.sqs.create_queue().queue_name("mails.fifo");
        let create = create.attributes(QueueAttributeName::FifoQueue, "true");
        create.attributes(QueueAttributeName::VisibilityTimeout, "5").send().await.expect("it is created");
    }

    async fn send(&self, group: &str, body: &str) -> Option<String> {
        let send = self.sqs.send_message().queue_url(&self.url).message_body(body).message_group_id(group);
        send.message_deduplication_id(body).send().await.ok()?.message_id
    }

    async fn receive(&self, most: i32) -> Vec<Message> {
        let receive = self.sqs.receive_message().queue_url(&self.url).max_number_of_messages(most);
        let receive = receive.message_system_attribute_names("ApproximateReceiveCount".into());
        receive.wait_time_seconds(1).send().await.expect("it answers").messages.unwrap_or_default()
    }

    async fn delete(&self, handle: &str) {
        let delete = self.sqs.delete_message().queue_url(&self.url).receipt_handle(handle);
        delete.send().await.expect("it is deleted");
    }
}

fn count(message: &Message) -> &str {
    let attributes = message.attributes.as_ref().expect("it has some");
    &attributes[&aws_sdk_sqs::types::MessageSystemAttributeName::ApproximateReceiveCount]
}

#[test]
fn after_a_kill_all_is_as_it_was() {
    let (folder, port) = (TempDir::new().expect("it is ours"), free_port());
    Runtime::new().expect("a runtime starts").block_on(async {
        let service = Service::start(folder.path(), port);
        service.create().await;
        let first = service.send("a", "first").await;
        service.send("a", "second").await;
        service.send("b", "third").await;
        let in_hand = service.receive(2).await;
        let bodies: Vec<_> = in_hand.iter().filter_map(Message::body).collect();
        assert_eq!(bodies, ["first", "second"], "those of a group come together");
        let handle = in_hand[0].receipt_handle().expect("it has one").to_owned();
        drop(service);

        let service = Service::start(folder.path(), port);
        let free = service.receive(10).await;
        assert_eq!(
            free.iter().filter_map(Message::body).collect::<Vec<_>>(),
            ["third"],
            "others are in flight"
        );
        service.delete(&handle).await;
        drop(service);

        // A second kill, after a start that has repeated calls.
        let service = Service::start(folder.path(), port);
        assert_eq!(service.send("a", "first").await, first, "a duplicate within five minutes");
        tokio::time::sleep(Duration::from_secs(5)).await;
        let mut back = service.receive(10).await;
        back.extend(service.receive(10).await);
        let mut back: Vec<_> = back.iter().map(|it| (it.body().unwrap_or_default(), count(it))).collect();
        back.sort_unstable();
        assert_eq!(back, [("second", "2"), ("third", "2")]);
        assert!(service.receive(10).await.is_empty());
    });
}

#[test]
fn each_message_that_was_acknowledged_before_a_kill_is_there() {
    let (folder, port) = (TempDir::new().expect("it is ours"), free_port());
    Runtime::new().expect("a runtime starts").block_on(async {
        let mut service = Service::start(folder.path(), port);
        service.create().await;
        let mut acknowledged = BTreeSet::new();
        for kill in 0..8 {
            let sending = async {
                for number in 0.. {
                    let body = format!("{kill}-{number}");
                    let Some(_) = service.send(&body, &body).await else { return };
                    acknowledged.insert(body);
                }
            };
            // The kill comes while a call is under way.
            let _ = tokio::time::timeout(Duration::from_millis(300), sending).await;
            drop(service);
            service = Service::start(folder.path(), port);
        }
        let mut there = BTreeSet::new();
        loop {
            let received = service.receive(10).await;
            if received.is_empty() {
                break;
            }
            for message in received {
                there.insert(message.body().expect("a body").to_owned());
                service.delete(message.receipt_handle().expect("it has one")).await;
            }
        }
        let lost: Vec<_> = acknowledged.difference(&there).collect();
        assert!(lost.is_empty() && acknowledged.len() > 100, "of {}: {lost:?}", acknowledged.len());
    });
}

#[test]
fn a_folder_has_one_process_and_queues_of_one_place() {
    let (folder, port) = (TempDir::new().expect("it is ours"), free_port());
    let service = Service::start(folder.path(), port);
    let line = format!("local --empty --state {}", folder.path().display());
    Ran::of(&mut command(&line)).refused(1, "another process uses it");
    drop(service);
    std::fs::write(folder.path().join("queues"), "nonsense").expect("it is ours");
    Ran::of(&mut command(&line)).refused(1, "it is damaged, or another version wrote it");
}

#[test]
fn an_attribute_that_was_removed_from_the_template_has_its_default() {
    let (folder, port) = (TempDir::new().expect("it is ours"), free_port());
    let template = folder.path().join("template.yaml");
    let runtime = Runtime::new().expect("a runtime starts");
    for (properties, expected) in
        [("{ QueueName: q, VisibilityTimeout: 99 }", "99"), ("{ QueueName: q }", "30")]
    {
        let text = format!("Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties: {properties}\n");
        std::fs::write(&template, text).expect("it is ours");
        let queues = ["--template", template.to_str().expect("it is text")];
        let service = Service::of(&queues, &folder.path().join("state"), port);
        let name = QueueAttributeName::VisibilityTimeout;
        let get =
            service.sqs.get_queue_attributes().queue_url(format!("http://localhost:{port}/000000000000/q"));
        let answer = runtime.block_on(get.attribute_names(name.clone()).send()).expect("it answers");
        assert_eq!(answer.attributes.expect("one")[&name], expected);
    }
}
