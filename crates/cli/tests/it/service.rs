//! `redrive local` as a service without functions, for clients on other machines.

use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};

use aws_sdk_sqs::types::QueueAttributeName::{
    self, ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible,
};
use serde_json::{Value, json};

use crate::bad_input::file;
use crate::support::client;
use crate::support::running::{Running, built, free_port, root, signal, until, wait_for};

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

/// An empty variable counts as not set, and an option counts more than a variable.
#[test]
fn variables_are_refused_by_name() {
    let refused = |line: &str, variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redrive"));
        let ran = command.arg("local").args(line.split(' ')).envs(variables.iter().copied()).output();
        let ran = ran.expect("the command runs");
        (ran.status.code(), String::from_utf8(ran.stderr).expect("it is text"))
    };
    let (listen, allow) = ("REDRIVE_LOCAL_LISTEN", "REDRIVE_LOCAL_ALLOW_HOST");
    for (line, variables, expected) in [
        (
            "--empty",
            [(listen, "4566"), (allow, "")],
            "REDRIVE_LOCAL_LISTEN is \"4566\", allowed: an IP address",
        ),
        (
            "--empty",
            [(listen, "0.0.0.0:4566"), (allow, "")],
            "REDRIVE_LOCAL_LISTEN is 0.0.0.0:4566, allowed: a loopback address such as 127.0.0.1:4566, or REDRIVE_LOCAL_ALLOW_HOST",
        ),
        (
            "--empty",
            [(listen, ""), (allow, "a,b:1")],
            "REDRIVE_LOCAL_ALLOW_HOST is \"a,b:1\", allowed: a name",
        ),
        (
            "--demo --until-idle",
            [("REDRIVE_LOCAL_STATE", "state"), (allow, "")],
            "template.yaml: REDRIVE_LOCAL_STATE keeps queues",
        ),
        (
            "--empty --listen 0.0.0.0:1",
            [(listen, "x"), (allow, "")],
            "--listen is 0.0.0.0:1, allowed: a loopback",
        ),
        (
            "--template nowhere.yaml --port 9324",
            [(listen, "x"), (allow, "redrive")],
            "could not read the template",
        ),
    ] {
        let (code, stderr) = refused(line, &variables);
        assert_eq!((code, stderr.lines().count()), (Some(2), 1), "{line}: {stderr}");
        assert!(stderr.starts_with("redrive: ") && stderr.contains(expected), "{line}: {stderr}");
    }
}

/// Without functions, messages go to the only queue that is no dead-letter queue.
#[test]
fn the_queues_of_a_template_need_no_function() {
    let template = file(
        ".yaml",
        "Resources:\n  Mails: {Type: AWS::SQS::Queue, Properties: {QueueName: mails, \
         RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}}}\n  \
         Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: mails-dead, \
         RedrivePolicy: {deadLetterTargetArn: !GetAtt Grave.Arn, maxReceiveCount: 3}}}\n  \
         Grave: {Type: AWS::SQS::Queue, Properties: {QueueName: mails-grave}}\n",
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

/// Clients in their own network namespace, as in a container, call the service by name. Requests of web pages are refused.
#[test]
fn clients_in_another_network_namespace_call_it_by_name() {
    let isolated = || {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "--mount"]);
        command
    };
    if !isolated().args(["ip", "link", "set", "lo", "up"]).status().is_ok_and(|status| status.success()) {
        println!("skipped: this system has no `ip`, or lets no user create namespaces");
        return;
    }
    let folder = tempfile::TempDir::new().expect("it is ours");
    let scripts = root().join("crates/cli/tests/it");
    let ran = isolated()
        .args(["sh".as_ref(), scripts.join("two_namespaces.sh").as_path()])
        .args([env!("CARGO_BIN_EXE_redrive").as_ref(), folder.path()])
        .args(["sh".as_ref(), scripts.join("clients_by_name.sh").as_path(), built("orders").as_path()])
        .args([root().join("target/venv/bin/python").as_path(), folder.path()])
        .output()
        .expect("it runs");
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && stdout == "10\n", "{stdout} {}", String::from_utf8_lossy(&ran.stderr));
}

/// Runs what the compose file says, without containers: `redrive` is `localhost` here.
#[test]
fn the_containers_of_the_compose_file_work_together() {
    let python = root().join("target/venv/bin/python");
    let read = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let compose = root().join("examples/compose.yaml");
    let json = Command::new(&python).args(["-c", read]).arg(compose).output().expect("Python runs").stdout;
    let port = free_port();
    let json = String::from_utf8(json)
        .expect("it is text")
        .replace("redrive:4566", &format!("localhost:{port}"))
        .replace("0.0.0.0:4566", &format!("0.0.0.0:{port}"));
    let services = serde_json::from_str::<Value>(&json).expect("it is JSON")["services"].take();
    let folder = root().join("examples/deploy");
    let command = services["redrive"]["command"].as_str().expect("it is a line");
    let command = command.replace("/worker.yaml", folder.join("worker.yaml").to_str().expect("it is text"));
    let variables = services["redrive"]["environment"].as_object().expect("it has variables");
    let variables = variables.iter().map(|(name, value)| (&**name, value.as_str().expect("it is text")));
    let mut service =
        serve(command.strip_prefix("local ").expect("it is this one"), &variables.collect::<Vec<_>>());
    let stdout = BufReader::new(service.0.stdout.take().expect("stdout is piped"));
    wait_for(port);
    let start = |service: &Value, program: &Path, arguments: &[&str]| {
        let variables = service["environment"].as_object().expect("it has variables").iter();
        let variables = variables.map(|(name, value)| (name, value.as_str().expect("it is text")));
        let child = Command::new(program)
            .args(arguments)
            .envs(variables)
            .env("REDRIVE_DRAIN", "2")
            .stdout(Stdio::null())
            .spawn();
        Running(child.expect("the program runs"))
    };
    let script = services["producer"]["command"][2].as_str().expect("it is a script");
    let script =
        script.split_once("PYTHON\n").and_then(|(_, rest)| rest.split_once("PYTHON")).expect("it is there").0;
    let mut producer = start(&services["producer"], &python, &["-c", script]);
    assert!(producer.0.wait().expect("the child is ours").success());
    let mut consumer = start(&services["consumer"], &built("orders"), &[]);
    let sqs = client(&format!("http://localhost:{port}"), "us-east-1");
    let url = services["consumer"]["environment"]["REDRIVE_QUEUE_URL"].as_str().expect("it is text");
    until("an empty queue", || {
        let read = sqs.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All);
        let counts = run(read.send()).expect("the queue is there").attributes.expect("it has counts");
        counts[&ApproximateNumberOfMessages] == "0" && counts[&ApproximateNumberOfMessagesNotVisible] == "0"
    });
    signal("-TERM", &consumer.0);
    assert!(consumer.0.wait().expect("the child is ours").success());
    let totals = service.stop(stdout);
    assert_eq!((&totals["messages"], &totals["done"]), (&json!(10), &json!(10)), "{totals}");
}
