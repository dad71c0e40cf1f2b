use std::time::Duration;

use super::*;

use crate::deployment::{PartialRedrivePolicy, Seen};

fn read_with(text: &str, parameters: &[(&str, &str)]) -> Result<Deployment, TemplateError> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let parameters: Vec<_> = parameters.iter().map(owned).collect();
    let file = |path: &Path| {
        (path == Path::new("Cargo.toml")).then(|| "[profile.release]\npanic = \"abort\"".to_owned())
    };
    read(&Source { file: &file, ..Source::new(Path::new("t.yaml"), text, &parameters) })
}

fn subject_of(text: &str) -> Deployment {
    read_with(text, &[]).unwrap()
}

#[test]
fn a_misspelled_property_of_a_queue_is_reported_with_a_suggestion() {
    let deployment = |name: &str| {
        subject_of(&format!(
            "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      {name}: 180"
        ))
    };
    let told =
        "line 5: Q: unknown property VisibiltyTimeout of an SQS queue; did you mean VisibilityTimeout?";
    assert_eq!(deployment("VisibiltyTimeout").notes, [told]);
    assert_eq!(deployment("VisibilityTimeout").notes, Vec::<String>::new());
}

#[test]
fn gaps_stay_gaps() {
    let deployment = subject_of(
        "
Parameters: {Timeout: {Type: Number}, Zone: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /zone}}
Conditions: {Odd: !Equals [!Ref Zone, a]}
Resources:
  Table: {Type: AWS::DynamoDB::Table, Properties: {TableName: !Foo x}}
  Maybe: {Type: AWS::SQS::Queue, Condition: Odd}
  Q:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !ImportValue name
      VisibilityTimeout: '{{resolve:ssm:/timeout}}'
      RedrivePolicy: {deadLetterTargetArn: !ImportValue dead, maxReceiveCount: 5}
  Work:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: !Ref Timeout
      Role: arn:aws:iam::123456789012:role/elsewhere
      Environment: {Variables: {REDRIVE_BACKOFF: !ImportValue backoff, TABLE: !GetAtt Table.Color}}
      Events:
        Q: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: !Split [',', !ImportValue x]}}
        Api: {Type: HttpApi}
",
    );
    let [queue] = &deployment.queues[..] else { panic!("expected one queue") };
    assert_eq!((queue.name(), queue.visibility_timeout), ("STACK-Q", None));
    assert_eq!(queue.retention, Some(Duration::from_secs(345_600)));
    assert_eq!(
        queue.redrive_policy,
        Seen::There(PartialRedrivePolicy { dead_letter_target_arn: None, max_receive_count: Some(5) })
    );
    let [mapping] = &deployment.mappings[..] else { panic!("expected one mapping") };
    assert_eq!((mapping.reports_batch_item_failures, mapping.batch_size), (None, Some(10)));
    let function = deployment.function_of(mapping).unwrap();
    assert_eq!((function.timeout, &function.process.statements), (None, &None));
    assert_eq!(function.process.variable("REDRIVE_BACKOFF"), Seen::Unknown);
    assert_eq!(
        deployment.lines_not_read(),
        [
            "Maybe: Zone is read from SSM: pass --parameter Zone=VALUE",
            "VisibilityTimeout of Q: {{resolve:ssm:/timeout}} is resolved only at deployment",
            "deadLetterTargetArn of Q: the export dead of another stack is known only at deployment",
            "Timeout of Work: Timeout has no default: pass --parameter Timeout=VALUE",
            "REDRIVE_BACKOFF of Work: the export backoff of another stack is known only at deployment",
            "the permissions of Work: its role is not in this template",
            "FunctionResponseTypes of Work.Q: the export x of another stack is known only at deployment",
        ]
    );
}

#[test]
fn an_item_of_a_list_that_is_not_known_is_told() {
    for list in ["[!ImportValue x]", "[!If [C, ReportBatchItemFailures, !Ref AWS::NoValue]]"] {
        let deployment = subject_of(&format!(
            "
Parameters: {{P: {{Type: String}}}}
Conditions: {{C: !Equals [!Ref P, a]}}
Resources:
  Q: {{Type: AWS::SQS::Queue}}
  Work:
    Type: AWS::Serverless::Function
    Properties:
      Events: {{Q: {{Type: SQS, Properties: {{Queue: !GetAtt Q.Arn, FunctionResponseTypes: {list}}}}}}}
  Alarm: {{Type: AWS::CloudWatch::Alarm, Properties: {{Namespace: AWS/SQS, AlarmActions: {list}}}}}
",
        ));
        assert_eq!(deployment.mappings[0].reports_batch_item_failures, None);
        for name in ["FunctionResponseTypes of Work.Q", "AlarmActions of Alarm"] {
            let told = deployment.lines_not_read();
            assert!(told.iter().any(|line| line.starts_with(name)), "{list}: {told:?}");
        }
    }
}

/// Returns the panic settings of a function with these properties, beside these files.
fn panics_of(properties: &str, files: &[(&str, &str)]) -> Option<crate::deployment::Panics> {
    let text = format!("Resources:\n  Work: {{Type: AWS::Serverless::Function, {properties}}}");
    let file = |path: &Path| {
        files.iter().find(|(name, _)| path == Path::new(name)).map(|(_, text)| (*text).to_owned())
    };
    let source = Source { file: &file, ..Source::new(Path::new("stacks/t.yaml"), &text, &[]) };
    read(&source).unwrap().functions.remove(0).panics
}

#[test]
fn the_profile_that_counts_is_that_of_the_workspace() {
    let package = ("work/Cargo.toml", "[profile.release]\npanic = \"unwind\"");
    let built = "Metadata: {BuildMethod: rust-cargolambda}, Properties: {CodeUri: ../work}";
    let alone = panics_of(built, &[package]).unwrap();
    assert_eq!((alone.strategy, alone.by_cargo_lambda), (Some(("unwind".to_owned(), 2)), true));
    let root = ("Cargo.toml", "[workspace]\nmembers = [\"work\"]\n");
    let member = panics_of(built, &[package, root]).unwrap();
    assert_eq!((member.strategy, member.by_cargo_lambda), (None, true));
    assert_eq!(member.manifest.to_str(), Some("Cargo.toml"));
    let prebuilt = panics_of("Properties: {CodeUri: ../target/lambda/work}", &[root]).unwrap();
    assert_eq!((prebuilt.strategy, prebuilt.by_cargo_lambda), (None, true));
    for (code, manifest) in [("../work", "work"), ("./../x/./../work/", "work"), ("x/../a/..", "stacks")] {
        let manifest = format!("{manifest}/Cargo.toml");
        let panics =
            panics_of(&format!("Properties: {{CodeUri: {code}}}"), &[(&manifest, package.1)]).unwrap();
        assert_eq!(panics.manifest.to_str(), Some(&*manifest), "as others write it");
    }
    let by_hand = panics_of("Properties: {CodeUri: ../work}", &[package]).unwrap();
    assert!(!by_hand.by_cargo_lambda);
    for elsewhere in ["s3://bucket/code.zip", "/work", "../nowhere", "{Bucket: b, Key: k}"] {
        assert_eq!(panics_of(&format!("Properties: {{CodeUri: '{elsewhere}'}}"), &[package]), None);
    }
}

#[test]
fn rights_come_from_roles_policies_and_templates_of_policies() {
    let function = |policies: &str, others: &str| {
        let text = format!(
            "
Resources:
  Q: {{Type: AWS::SQS::Queue}}
  Work: {{Type: AWS::Serverless::Function, Properties: {{{policies}}}}}
{others}"
        );
        subject_of(&text).functions.remove(0)
    };
    let queue = "arn:aws:sqs:REGION:ACCOUNT:STACK-Q";
    let may =
        |policies: &str, others: &str, action: &str| function(policies, others).process.may(action, queue);
    let change = "sqs:ChangeMessageVisibility";
    assert_eq!(may("", "", "sqs:ReceiveMessage"), Some(true), "SAM adds its managed policy");
    assert_eq!(may("", "", change), Some(false));
    assert_eq!(may("Policies: [SQSPollerPolicy: {QueueName: !GetAtt Q.QueueName}]", "", change), Some(true));
    assert_eq!(may("Policies: [SQSPollerPolicy: {QueueName: other}]", "", change), Some(false));
    assert_eq!(may("Policies: AmazonSQSFullAccess", "", change), Some(true));
    assert_eq!(
        may("Policies: [AWSLambdaBasicExecutionRole, S3ReadPolicy: {BucketName: b}]", "", change),
        Some(false)
    );
    assert_eq!(may("Policies: [SomebodysPolicy]", "", change), None);
    let inline = "Policies: {Statement: {Effect: Allow, Action: 'sqs:*', Resource: !GetAtt Q.Arn}}";
    assert_eq!(may(inline, "", change), Some(true));
    assert_eq!(may("", "  T: {Type: AWS::SNS::Topic, Connectors: {C: {}}}\n", change), None);

    let role = "Role: !GetAtt R.Arn";
    let bare = "  R: {Type: AWS::IAM::Role, Properties: {ManagedPolicyArns: ['arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole']}}\n";
    assert_eq!(may(role, bare, change), Some(false));
    let document = "PolicyDocument: {Statement: [{Effect: Allow, Action: [sqs:Change*], Resource: '*'}]}";
    let policy =
        format!("{bare}  P: {{Type: AWS::IAM::Policy, Properties: {{Roles: [!Ref R], {document}}}}}\n");
    assert_eq!(may(role, &policy, change), Some(true));
    let managed = format!(
        "  R: {{Type: AWS::IAM::Role, Properties: {{ManagedPolicyArns: [!Ref P]}}}}\n  P: {{Type: AWS::IAM::ManagedPolicy, Properties: {{{document}}}}}\n"
    );
    assert_eq!(may(role, &managed, change), Some(true));
    let unknown = bare.replace("AWSLambdaBasicExecutionRole", "Unknown");
    assert_eq!(may(role, &unknown, change), None);
    assert_eq!(may("Role: !ImportValue role", "", change), None);
}

#[test]
fn a_function_is_redrives_by_its_variables_or_its_manifest() {
    let may_be = |function: &str, manifest: &str| {
        let text = format!("Resources:\n  Work: {{Type: AWS::Serverless::Function, {function}}}");
        let file = |_: &Path| Some(manifest.to_owned());
        let source = Source { file: &file, ..Source::new(Path::new("t.yaml"), &text, &[]) };
        read(&source).unwrap().functions.remove(0).may_run_redrive()
    };
    let plain = "Properties: {Runtime: provided.al2023, CodeUri: .}";
    let dependent = "[dependencies]\nredrive = \"1\"";
    assert!(!may_be(plain, "[dependencies]\nserde = \"1\""));
    assert!(may_be(plain, dependent));
    assert!(may_be(plain, "[dependencies]\nconsumer = { package = \"redrive\", version = \"1\" }"));
    assert!(!may_be("Metadata: {BuildMethod: rust-cargolambda}, Properties: {CodeUri: .}", ""));
    assert!(may_be("Properties: {Environment: {Variables: {REDRIVE_BACKOFF: !ImportValue x}}}", ""));
    assert!(!may_be("Properties: {Runtime: python3.13, CodeUri: .}", dependent));
    assert!(!may_be("Properties: {InlineCode: x}", dependent));
    let layered = |wrapper: &str| {
        let variables = format!("Environment: {{Variables: {{AWS_LAMBDA_EXEC_WRAPPER: {wrapper}}}}}");
        may_be(&format!("Properties: {{Runtime: python3.13, {variables}}}"), "")
    };
    assert!(layered("/opt/redrive"));
    assert!(!layered("/opt/otel-handler"));
}

#[test]
fn an_alias_or_a_version_is_its_function() {
    for name in ["Work", "Work.Alias", "Work.Version", "WorkAliaslive", "Own", "Published"] {
        let deployment = subject_of(&format!(
            "
Resources:
  Q: {{Type: AWS::SQS::Queue}}
  Work: {{Type: AWS::Serverless::Function, Properties: {{AutoPublishAlias: live}}}}
  Own: {{Type: AWS::Lambda::Alias, Properties: {{FunctionName: !GetAtt Work.Arn, Name: own}}}}
  Published: {{Type: AWS::Lambda::Version, Properties: {{FunctionName: !Ref Work}}}}
  M: {{Type: AWS::Lambda::EventSourceMapping, Properties: {{EventSourceArn: !GetAtt Q.Arn, FunctionName: !Ref {name}}}}}
  N: {{Type: AWS::Lambda::EventSourceMapping, Properties: {{EventSourceArn: !GetAtt Q.Arn, FunctionName: other}}}}
"
        ));
        assert_eq!(deployment.function_of(&deployment.mappings[0]).unwrap().id, "Work", "{name}");
        assert_eq!(deployment.lines_not_read(), ["the function of N: other is not in this template"]);
    }
}

/// A table of the template by its name or its ARN, and what is allowed on it.
#[test]
fn a_function_knows_its_table_and_what_it_may_do_with_it() {
    let deployment = |table: &str, policies: &str| {
        subject_of(&format!(
            "Resources:
  T: {{{table}}}
  Q: {{Type: AWS::SQS::Queue}}
  W:
    Type: AWS::Serverless::Function
    Properties:
      Policies: {policies}
      Environment: {{Variables: {{REDRIVE_IDEMPOTENCY_TABLE: !Ref T}}}}
      Events: {{Q: {{Type: SQS, Properties: {{Queue: !GetAtt Q.Arn}}}}}}"
        ))
    };
    let allowed = |policies: &str| {
        let deployment = deployment("Type: AWS::DynamoDB::Table", policies);
        let (table, process) = (&deployment.tables[0], &deployment.functions[0].process);
        assert_eq!(table.arn, "arn:aws:dynamodb:REGION:ACCOUNT:table/STACK-T");
        assert_eq!(deployment.table(&table.arn).map(|it| &it.id), Some(&table.id));
        ["PutItem", "UpdateItem", "GetItem"]
            .map(|it| process.may(&format!("dynamodb:{it}"), &table.arn).unwrap())
    };
    for (policies, expected) in [
        ("[AmazonDynamoDBFullAccess]", [true; 3]),
        ("[AmazonDynamoDBReadOnlyAccess]", [false, false, true]),
        ("[DynamoDBCrudPolicy: {TableName: !Ref T}]", [true; 3]),
        ("[DynamoDBCrudPolicy: {TableName: other}]", [false; 3]),
        ("[DynamoDBCrudPolicy: {TableName: !ImportValue other}]", [true; 3]),
        ("[DynamoDBWritePolicy: {TableName: !Ref T}]", [true, true, false]),
        ("[DynamoDBReadPolicy: {TableName: !Ref T}]", [false, false, true]),
        ("[Statement: [{Effect: Allow, Action: 'dynamodb:*', Resource: !GetAtt T.Arn}]]", [true; 3]),
        ("[AWSLambdaDynamoDBExecutionRole]", [false; 3]),
    ] {
        assert_eq!(allowed(policies), expected, "{policies}");
    }
    let keys = "KeySchema: [{AttributeName: at, KeyType: RANGE}, {AttributeName: id, KeyType: HASH}]";
    let ttl = |ttl: &str| format!("TimeToLiveSpecification: {{AttributeName: expiration, Enabled: {ttl}}}");
    for (kind, properties, keys, expires) in [
        ("DynamoDB::GlobalTable", ttl("true"), Seen::Absent, Seen::There("expiration".to_owned())),
        ("DynamoDB::Table", ttl("no"), Seen::Absent, Seen::Absent),
        (
            "DynamoDB::Table",
            keys.to_owned(),
            Seen::There(vec!["id".to_owned(), "at".to_owned()]),
            Seen::Absent,
        ),
        ("Serverless::SimpleTable", "Tags: {}".to_owned(), Seen::Absent, Seen::Absent),
        ("DynamoDB::Table", ttl("!ImportValue a"), Seen::Absent, Seen::Unknown),
    ] {
        let deployment =
            deployment(&format!("Type: AWS::{kind}, Properties: {{TableName: t, {properties}}}"), "[]");
        let table = deployment.table("t").unwrap();
        assert_eq!((&table.keys, &table.ttl_attribute), (&keys, &expires), "{kind} {properties}");
    }
}

#[test]
fn a_manifest_is_read_once_however_often_it_is_named() {
    let text = "Resources: {W: {Type: AWS::Serverless::Function, Properties: {Runtime: provided.al2023, CodeUri: work/}}}";
    let reads = |members: String| {
        let reads = std::cell::Cell::new(0);
        let file = |path: &Path| {
            reads.set(reads.get() + 1);
            let is_root = path == Path::new("work/Cargo.toml");
            Some(if is_root { format!("[workspace]\nmembers = [{members}]") } else { "[package]".to_owned() })
        };
        let source = Source { file: &file, ..Source::new(Path::new("t.yaml"), text, &[]) };
        let deployment = read(&source).unwrap();
        (reads.get(), deployment.lines_not_read().len())
    };
    assert_eq!(reads("'m', './m', 'a/../m', ".repeat(1_000)), (2, 0));
    let many: String = (0..20_000).map(|at| format!("'m{at}', ")).collect();
    assert_eq!(reads(many), (1_000, 1), "one line reports the rest");
}
