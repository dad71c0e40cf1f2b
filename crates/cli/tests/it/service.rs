//! `redrive local` as a service without functions, for clients on other machines.

use std::io::BufReader;
use std::process::{Command, Stdio};

use crate::bad_input::file;
use crate::support::client;
use crate::support::running::{Running, free_port, wait_for};

/// Starts it without functions.
fn serve(line: &str, variables: &[(&str, &str)]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
    command.args(["local", "--json"]).args(line.split(' ')).envs(variables.iter().copied());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    Running(child.expect("the command runs"))
}

fn run<T>(call: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime starts").block_on(call)
}

#[test]
fn an_empty_account_serves_clients_that_create_their_queues() {
    let port = free_port();
    let listen = format!("0.0.0.0:{port}");
    let variables = [("REDRIVE_LOCAL_LISTEN", &*listen), ("REDRIVE_LOCAL_ALLOW_HOST", "redrive,10.0.0.7")];
    let mut service = serve("--empty", &variables);
    let stdout = BufReader::new(service.0.stdout.take().expect("stdout is piped"));
    wait_for(port);
    let sqs = client(&format!("http://localhost:{port}"), "us-east-1");
    let listed = run(sqs.list_queues().send()).expect("it answers");
    assert_eq!(listed.queue_urls.unwrap_or_default(), [] as [String; 0]);
    let made = run(sqs.create_queue().queue_name("mails").send()).expect("it is made").queue_url;
    let url = made.expect("it has a URL");
    assert_eq!(url, format!("http://localhost:{port}/000000000000/mails"));
    run(sqs.send_message().queue_url(&url).message_body("hello").send()).expect("it is sent");
    let received = run(sqs.receive_message().queue_url(&url).send()).expect("it is received");
    assert_eq!(received.messages().len(), 1);
    service.stop(stdout);
}

/// Without functions, messages go to the only queue that is no dead-letter queue.
#[test]
fn the_queues_of_a_template_need_no_function() {
    let template = file(
        ".yaml",
        "Resources:\n  Mails: {Type: AWS::SQS::Queue, Properties: {QueueName: mails, \
         RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}}}\n  \
         Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: mails-dead}}\n",
    );
    let messages = file(".jsonl", "{\"body\": \"hello\"}\n");
    let port = free_port();
    let line = format!("--port {port} --template {} --send {}", template.display(), messages.display());
    let mut service = serve(&line, &[]);
    let stdout = BufReader::new(service.0.stdout.take().expect("stdout is piped"));
    wait_for(port);
    let sqs = client(&format!("http://127.0.0.1:{port}"), "us-east-1");
    let url = format!("http://127.0.0.1:{port}/000000000000/mails");
    let received = run(sqs.receive_message().queue_url(&url).wait_time_seconds(20).send());
    assert_eq!(received.expect("it is received").messages()[0].body(), Some("hello"));
    assert_eq!(service.stop(stdout)["messages"], 1);
}
