//! Templates with resources that cannot run on one machine: `redrive local` runs the others and names these.

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use crate::support::running::built;
use crate::support::{Ran, local};

const TEMPLATE: &str = "
Transform: AWS::Serverless-2016-10-31
Parameters: {Dsn: {Type: String}}
Resources:
  Orders: {Type: AWS::SQS::Queue}
  Uploads: {Type: AWS::S3::Bucket}
  Table: {Type: AWS::DynamoDB::Table, Properties: {TableName: !ImportValue table}}
  Shop:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Environment:
        Variables: {TABLE_ARN: !GetAtt Table.Arn, VPC: !ImportValue vpc, DSN: !Ref Dsn}
      Policies:
        - Statement: [{Effect: Allow, Action: 's3:*', Resource: !Sub '${Uploads.Arn}/*'}]
      Events:
        Orders: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn, Enabled: True}}
  Copy:
    Type: AWS::Serverless::Function
    Properties:
      Events: {Table: {Type: DynamoDB, Properties: {Stream: !GetAtt Table.StreamArn, StartingPosition: LATEST}}}
";

/// Runs one message through a function that first writes what its environment holds.
fn run(template: &str, flags: &str) -> Ran {
    let directory = TempDir::new().expect("there is room for a directory");
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("the directory is ours");
        path
    };
    write("template.yaml", template);
    write("messages.jsonl", "{\"body\": \"ok\"}\n");
    let puppet = built("puppet");
    // The puppet is no function of lambda_runtime: it gets its address as other clients do, if this script names it.
    let says = "echo \"TABLE_ARN=$TABLE_ARN VPC=$VPC DSN=${DSN-none}\"";
    let shop =
        write("shop", &format!("#!/bin/sh\n# AWS_LAMBDA_RUNTIME_API\n{says}\nexec {}\n", puppet.display()));
    std::fs::set_permissions(&shop, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let line = format!("--send messages.jsonl --speed max --until-idle --show-output {flags}");
    Ran::of(&mut local(directory.path(), &line))
}

#[test]
fn resources_that_nothing_needs_are_made_up_or_left_out_and_named() {
    let ran = run(TEMPLATE, "--binary Shop=shop");
    ran.ended(0)
        .stderr_has("TABLE_ARN=arn:aws:dynamodb:us-east-1:000000000000:table/table VPC=vpc DSN=none\n")
        .stderr_has(
            " warning   made up: TABLE_ARN of Shop, VPC of Shop; pass --set Table.Arn=VALUE --set \
             table=VALUE --set vpc=VALUE\n",
        )
        .stderr_has(" left out  variable DSN of Shop: Dsn has no default: pass --parameter Dsn=VALUE\n")
        .stderr_has(" left out  no queue feeds function Copy\n");
}

#[test]
fn given_values_replace_made_up_ones() {
    let given = "--set Table=orders --set Table.Arn=arn:own --set vpc=vpc-1 --parameter Dsn=dsn";
    let ran = run(TEMPLATE, &format!("--binary Shop=shop {given}"));
    ran.ended(0).stderr_has("TABLE_ARN=arn:own VPC=vpc-1 DSN=dsn\n");
    assert!(!ran.stderr.contains("made up") && !ran.stderr.contains("DSN of"), "{ran:?}");
    run(TEMPLATE, "--binary Shop=shop --set Tabel.Arn=arn:own").told(
        2,
        "redrive: template.yaml:2: --set Tabel.Arn: this template does not need it, allowed: Table.Arn, \
         Table.StreamArn, Uploads.Arn, table, vpc\n",
    );
}

#[test]
fn a_container_image_is_not_built() {
    let image = TEMPLATE.replace("Runtime: provided.al2023", "PackageType: Image");
    let expected = "redrive: Shop: a container image cannot be built here, pass --binary Shop=PATH\n";
    run(&image, "").told(2, expected);
}
