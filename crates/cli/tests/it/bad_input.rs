//! Wrong input ends with one line on stderr and exit code 2, and a failure with 1.

use std::net::TcpListener;
use std::path::Path;

use crate::support::running::root;
use crate::support::{Ran, command, local};

const TEMPLATE: &str = "../../template.yaml";
const REDRIVE: &str = env!("CARGO_BIN_EXE_redrive");

/// Runs `redrive local` in this package's folder.
fn refused(line: &str) -> Ran {
    let ran = Ran::of(&mut local(Path::new(env!("CARGO_MANIFEST_DIR")), line));
    assert_eq!(ran.stdout, "", "stdout is for data");
    ran
}

/// A file with this content, deleted when dropped.
pub(crate) fn file(name: &str, content: &str) -> tempfile::TempPath {
    let file = tempfile::Builder::new().suffix(name).tempfile().expect("there is room for a file");
    std::fs::write(file.path(), content).expect("the file is ours");
    file.into_temp_path()
}

/// 900 bytes that become gigabytes, unless somebody counts.
fn bomb() -> String {
    let lines = (1..30).map(|level| format!("a{level}: &a{level} !Join [*a{0}, *a{0}]\n", level - 1));
    format!("a0: &a0 !Sub x\n{}", lines.collect::<String>())
}

fn deep() -> String {
    (0..1_000).map(|level| format!("{}k:\n", " ".repeat(level))).collect()
}

#[test]
fn a_template_larger_than_any_is_not_read_to_its_end() {
    let template = file(".yaml", "");
    let file = std::fs::OpenOptions::new().write(true).open(&template).expect("it is ours");
    file.set_len(1 << 40).expect("holes take no room");
    let path = template.display();
    refused(&format!("--template {path}"))
        .refused(2, &format!("redrive: could not read the template {path}: more than "));
}

#[test]
fn a_template_that_cannot_be_read_is_told_with_its_line() {
    refused("--template nowhere.yaml").refused(2, "redrive: could not read the template nowhere.yaml: ");
    let reference =
        "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !Ref Nothing\n";
    for (text, expected) in [
        ("Resources:\n  Q: {Type: AWS::SQS::Queue\n  R: 1\n", ":"),
        (reference, ":5: no such parameter or resource: Nothing\n"),
        ("Resources:\n  T: {Type: AWS::SNS::Topic}\n", ": no function in this template has an SQS event\n"),
        (&bomb(), ":16: too large once its aliases are expanded\n"),
        (&deep(), ":101: nested more than 100 levels deep\n"),
    ] {
        let template = file(".yaml", text);
        let path = template.display();
        refused(&format!("--template {path}")).refused(2, &format!("redrive: {path}{expected}"));
    }
}

#[test]
fn a_missing_name_is_reported_with_the_names_of_the_template() {
    for (flags, code, expected) in [
        ("--parameter Timeout=3", 2, "no parameter Timeout; known: MaxReceiveCount, FunctionTimeout"),
        ("--parameter MaxReceiveCount=21", 2, "MaxReceiveCount is \"21\", allowed: 1 to 20\n"),
        ("--binary no/such/bootstrap", 2, "redrive: --binary no/such/bootstrap: No such file"),
        (
            "--queue invoices",
            2,
            "redrive: no queue invoices in ../../template.yaml; known: redrive-orders-dead, redrive-orders\n",
        ),
        ("--binary src", 2, "redrive: --binary src: not a file\n"),
        (
            "--binary Cargo.toml",
            2,
            "redrive: --binary Cargo.toml: not executable; chmod +x Cargo.toml makes it so\n",
        ),
        ("--send nothing.jsonl", 2, "redrive: could not read the message file nothing.jsonl: "),
        (
            &format!("--example ledger --binary {REDRIVE}"),
            2,
            "redrive: OrdersFunction: pass --binary or --example, not both\n",
        ),
    ] {
        refused(&format!("--template {TEMPLATE} {flags}")).refused(code, expected);
    }
    refused("--sped 60").ended(2).stderr_has("--speed");
    refused("--empty --listen 0.0.0.0:4566").refused(
        2,
        "redrive: --listen is 0.0.0.0:4566, allowed: a loopback address such as 127.0.0.1:4566, or --allow-host with ",
    );
    refused("--empty --listen 0.0.0.0:4566 --allow-host redrive:4566").ended(2).stderr_has("without a port");
    refused("--empty --listen localhost:4566")
        .ended(2)
        .stderr_has("allowed: an IP address and a port, such as 0.0.0.0:4566");
    let queues = file(".yaml", "Resources:\n  Q: {Type: AWS::SQS::Queue}\n");
    let path = queues.display();
    for flag in ["--until-idle", "--worker"] {
        let expected = format!("redrive: {path}: no function in this template has an SQS event\n");
        refused(&format!("--template {path} {flag}")).refused(2, &expected);
    }
}

#[test]
fn a_binary_or_an_example_that_cargo_does_not_know() {
    let source = std::fs::read_to_string(root().join("template.yaml")).expect("it is there");
    let changed = source
        .replace("Binary: orders", "Binary: invoices")
        .replace("CodeUri: .", &format!("CodeUri: {}", root().display()));
    let template = file(".yaml", &changed);
    refused(&format!("--template {}", template.display()))
        .ended(2)
        .stderr_starts("redrive: OrdersFunction: no binary invoices in Cargo.toml; known: ")
        .stderr_has("orders");
    refused(&format!("--template {TEMPLATE} --example invoices"))
        .ended(2)
        .stderr_starts("redrive: --example invoices: no such example in Cargo.toml; known: ")
        .stderr_has("ledger");
}

#[test]
fn a_malformed_message_is_told_with_file_and_line() {
    let messages = file(".jsonl", "{\"body\": 1}\n{\"body\": 2,}\n");
    let path = messages.display();
    refused(&format!("--template {TEMPLATE} --send {path}"))
        .refused(2, &format!("redrive: {path}:2: column 12: "));
}

#[test]
fn a_message_that_the_queue_refuses() {
    for (parameters, line, expected) in [
        (
            "--parameter Fifo=true",
            r#"{"body": "x"}"#,
            "redrive-orders.fifo: group_id is missing: a FIFO queue requires one",
        ),
        ("", r#"{"body": "\u0001"}"#, "redrive-orders: the body contains the character \\u{1}"),
        ("", r#"{"body": "x", "delay": 901}"#, "redrive-orders: delay is 901, allowed: 0 to 900 seconds"),
    ] {
        let messages = file(".jsonl", &format!("{{\"body\": \"good\", \"group_id\": \"g\"}}\n{line}\n"));
        let path = messages.display();
        // No binary is given: nothing is built before the messages are checked.
        refused(&format!("--template {TEMPLATE} {parameters} --send {path}"))
            .refused(2, &format!("redrive: {path}: line 2: {expected}"));
    }
    let messages = file(".jsonl", "{\"body\": \"no deduplication id\", \"group_id\": \"g\"}\n");
    let send = format!("--parameter Fifo=true --send {}", messages.display());
    let ran = refused(&format!("--template {TEMPLATE} --binary {REDRIVE} {send}"));
    let last = ran.ended(2).stderr.lines().last().expect("it says why");
    assert!(last.contains("line 1: rejected by redrive-orders.fifo"), "{ran:?}");
}

#[test]
fn a_port_in_use() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let port = taken.local_addr().expect("it is bound").port();
    refused(&format!("--template {TEMPLATE} --binary {REDRIVE} --port {port}"))
        .told(1, format!("redrive: port {port} is in use; choose another one, or 0 for any that is free\n"));
}

#[test]
fn a_parameter_of_a_template_without_any_is_refused() {
    let template = file(".yaml", "Resources:\n  Q: {Type: AWS::SQS::Queue}\n");
    let path = template.display();
    let expected = format!("redrive: {path}:1: no parameter Foo; the template declares no parameters\n");
    refused(&format!("--template {path} --parameter Foo=1")).refused(2, &expected);
}

#[test]
fn a_name_without_a_flag_is_taken_for_a_stack_or_a_queue_in_what_is_said() {
    for verb in ["dlq list", "dlq retry", "queue status"] {
        let told = format!(
            "redrive: unexpected argument 'billing-eu' found; did you mean --stack billing-eu or --queue billing-eu?; see \
             redrive {verb} --help\n"
        );
        Ran::of(&mut command(&format!("{verb} billing-eu"))).told(2, told);
    }
    let ran = Ran::of(&mut command("doctor --sped"));
    assert!(!ran.ended(2).stderr.contains("did you mean --stack"), "{ran:?}");
}
