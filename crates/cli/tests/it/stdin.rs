//! Templates from stdin, or with a byte order mark.

use crate::support::running::root;
use crate::support::{Ran, command};

const TEMPLATE: &str = "
Resources:
  Orders: {Type: AWS::SQS::Queue}
  Dead: {Type: AWS::SQS::Queue}
  Work:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.13
      Handler: app.handler
      CodeUri: .
      Events:
        Orders: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}
";

fn of_stdin(line: &str, text: &str) -> Ran {
    Ran::of(command(line).current_dir(root()).write_stdin(text))
}

#[test]
fn a_template_can_come_from_stdin() {
    for line in ["doctor -", "doctor --template -"] {
        of_stdin(line, TEMPLATE)
            .ended(1)
            .stdout_starts("error redrive-policy-missing at stdin:3\n")
            .stderr_ends("redrive: 1 error, 0 warnings in stdin; checked 2 queues, 1 function, 0 workers\n");
    }
    let comment = "Resources:\n  # redrive:accept=redrive-policy-missing: short-lived\n";
    let accepted = TEMPLATE.replace("Resources:\n", comment);
    of_stdin("doctor -", &accepted)
        .ended(0)
        .stderr_ends("no problems found in stdin; checked 2 queues, 1 function, 0 workers\n");
    of_stdin("schedule --template -", TEMPLATE).ended(0).stdout_has("since Work does not run redrive");
    let alone = "Resources:\n  T: {Type: AWS::SNS::Topic}\n";
    of_stdin("local --template -", alone)
        .refused(2, "redrive: stdin: no function in this template has an SQS event");
}

#[test]
fn stdin_is_no_larger_than_a_file_may_be() {
    let large = format!("# {}\n{TEMPLATE}", "x".repeat(1 << 20));
    let expected = "redrive: could not read the template stdin: more than 1048576 bytes, the limit for a \
                    template\n";
    of_stdin("doctor -", &large).refused(2, expected);
}
