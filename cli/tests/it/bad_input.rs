//! What was typed wrong is told in one line on stderr, with exit code 2; what failed, with 1.

use std::net::TcpListener;
use std::path::Path;

use assert_cmd::Command;

const TEMPLATE: &str = "../template.yaml";

/// Runs `redrive local` in this package's folder; returns the exit code, and stderr without its last line break.
fn local(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_redrive"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("local")
        .args(arguments)
        .timeout(std::time::Duration::from_secs(60))
        .output()
        .expect("the command runs and ends");
    assert!(output.stdout.is_empty(), "stdout is for data");
    let stderr = String::from_utf8_lossy(&output.stderr);
    (output.status.code().expect("it was not killed"), stderr.trim_end().to_owned())
}

/// A file with this content, deleted when dropped.
fn file(name: &str, content: &str) -> tempfile::TempPath {
    let file = tempfile::Builder::new().suffix(name).tempfile().expect("there is room for a file");
    std::fs::write(file.path(), content).expect("the file is ours");
    file.into_temp_path()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

#[test]
fn a_missing_template() {
    let (code, error) = local(&["--template", "nowhere.yaml"]);
    assert_eq!(code, 2);
    assert!(error.starts_with("redrive: could not read the template nowhere.yaml: "), "{error}");
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn a_broken_template_is_told_with_its_line() {
    let broken = file(".yaml", "Resources:\n  Q: {Type: AWS::SQS::Queue\n  R: 1\n");
    let (code, error) = local(&["--template", text(&broken)]);
    assert_eq!(code, 2);
    assert!(error.starts_with(&format!("redrive: {}:", broken.display())), "{error}");
    assert_eq!(error.lines().count(), 1);

    let wrong = file(
        ".yaml",
        "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !Ref Nothing\n",
    );
    let (code, error) = local(&["--template", text(&wrong)]);
    assert_eq!(
        (code, error),
        (2, format!("redrive: {}:5: no such parameter or resource: Nothing", wrong.display()))
    );
}

#[test]
fn a_template_without_work() {
    let idle = file(".yaml", "Resources:\n  Q: {Type: AWS::SQS::Queue}\n");
    let (code, error) = local(&["--template", text(&idle)]);
    let expected = format!("redrive: {}: no function in this template has an SQS event", idle.display());
    assert_eq!((code, error), (2, expected));
}

#[test]
fn a_parameter_that_is_unknown_or_not_allowed() {
    let (code, error) = local(&["--template", TEMPLATE, "--parameter", "Timeout=3"]);
    assert_eq!(code, 2);
    assert!(error.contains("no parameter Timeout; there are: MaxReceiveCount, FunctionTimeout"), "{error}");
    let (code, error) = local(&["--template", TEMPLATE, "--parameter", "MaxReceiveCount=21"]);
    assert_eq!(code, 2);
    assert!(error.ends_with("MaxReceiveCount is \"21\", allowed: 1 to 20"), "{error}");
}

#[test]
fn a_binary_that_does_not_exist() {
    let (code, error) = local(&["--template", TEMPLATE, "--binary", "no/such/bootstrap"]);
    assert_eq!(code, 2);
    assert!(error.starts_with("redrive: no such binary: no/such/bootstrap"), "{error}");
}

#[test]
fn a_binary_that_cargo_does_not_know() {
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(TEMPLATE)).unwrap();
    let code_directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let changed = source
        .replace("Binary: orders", "Binary: invoices")
        .replace("CodeUri: .", &format!("CodeUri: {}", code_directory.display()));
    let template = file(".yaml", &changed);
    let (code, error) = local(&["--template", text(&template)]);
    assert_eq!(code, 2);
    assert!(
        error.starts_with("redrive: OrdersFunction: Cargo knows no binary invoices; there are: "),
        "{error}"
    );
    assert!(error.contains("orders"), "{error}");
}

#[test]
fn an_example_that_cargo_does_not_know() {
    let (code, error) = local(&["--template", TEMPLATE, "--example", "invoices"]);
    assert_eq!(code, 2);
    let expected = "redrive: --example invoices: Cargo knows no such example; there are: ";
    assert!(error.starts_with(expected) && error.contains("ledger"), "{error}");

    let binary = env!("CARGO_BIN_EXE_redrive");
    let (code, error) = local(&["--template", TEMPLATE, "--example", "ledger", "--binary", binary]);
    let expected = "redrive: OrdersFunction: give --binary or --example, not both";
    assert_eq!((code, error.as_str()), (2, expected));
}

#[test]
fn a_malformed_message_is_told_with_file_and_line() {
    let messages = file(".jsonl", "{\"body\": 1}\n{\"body\": 2,}\n");
    let (code, error) = local(&["--template", TEMPLATE, "--send", text(&messages)]);
    assert_eq!(code, 2);
    assert!(error.starts_with(&format!("redrive: {}:2: column 12: ", messages.display())), "{error}");
    assert_eq!(error.lines().count(), 1);

    let (code, error) = local(&["--template", TEMPLATE, "--send", "nothing.jsonl"]);
    assert_eq!(code, 2);
    assert!(error.starts_with("redrive: could not read the messages nothing.jsonl: "), "{error}");
}

#[test]
fn a_queue_that_does_not_exist() {
    let (code, error) = local(&["--template", TEMPLATE, "--queue", "invoices"]);
    let expected =
        "redrive: no queue invoices in ../template.yaml; there are: redrive-orders-dead, redrive-orders";
    assert_eq!((code, error.as_str()), (2, expected));
}

#[test]
fn a_message_that_the_queue_refuses() {
    let messages = file(".jsonl", "{\"body\": \"no group\"}\n");
    let binary = env!("CARGO_BIN_EXE_redrive");
    let fifo = "Fifo=true";
    let (code, error) =
        local(&["--template", TEMPLATE, "--binary", binary, "--parameter", fifo, "--send", text(&messages)]);
    assert_eq!(code, 2);
    let last = error.lines().last().unwrap();
    assert!(last.contains("line 1: redrive-orders.fifo refuses this message"), "{error}");
}

#[test]
fn a_port_in_use() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, error) =
        local(&["--template", TEMPLATE, "--binary", env!("CARGO_BIN_EXE_redrive"), "--port", &port]);
    let expected = format!("redrive: port {port} is in use; choose another one, or 0 for any that is free");
    assert_eq!((code, error), (1, expected));
}

#[test]
fn a_flag_that_does_not_exist() {
    let (code, error) = local(&["--sped", "60"]);
    assert_eq!(code, 2);
    assert!(error.contains("--speed"), "{error}");
}
