use super::{QUEUE, error_of, stack_of, stack_with};

#[test]
fn the_url_of_a_queue_is_not_its_arn() {
    let error = error_of(&QUEUE.replace("!GetAtt Q.Arn", "!Ref Q"));
    let url = "http://127.0.0.1:0/000000000000/local-Q";
    assert_eq!(error, format!("line 19: Work: {url} is the URL of Q, not its ARN: write !GetAtt Q.Arn"));
    for text in ["Q.Arn", "${Q.Arn}"] {
        let error = error_of(&QUEUE.replace("!GetAtt Q.Arn", &format!("'{text}'")));
        assert_eq!(error, format!("line 19: Work: \"{text}\" is a string, not an ARN: write !GetAtt Q.Arn"));
    }
    let dead = "Resources:\n  D: {Type: AWS::SQS::Queue}\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      \
                RedrivePolicy: {deadLetterTargetArn: !Ref D, maxReceiveCount: 3}";
    assert!(error_of(dead).ends_with("/local-D is the URL of D, not its ARN: write !GetAtt D.Arn"));
}

#[test]
fn globals_that_cannot_be_worked_out_are_refused() {
    let variables = "Environment: {Variables: {A: global, B: global}}";
    for (good, bad) in [
        (variables, "Environment: {Variables: !ImportValue v}"),
        (variables, "Environment: {Fn::Transform: {Name: x}}"),
        (&format!("\n    Timeout: 20\n    {variables}"), "\n    !ImportValue v"),
    ] {
        let error = error_of(&QUEUE.replace(good, bad));
        assert!(error.starts_with("line 5: ") || error.starts_with("line 4: "), "{error}");
    }
}

/// Returns a template with this value for the function's variable B, and with more resources.
fn with_variable(value: &str, resources: &str) -> String {
    QUEUE
        .replace("{B: own}", &format!("{{B: {value}}}"))
        .replace("  Q: {Type", &format!("{resources}  Q: {{Type"))
}

#[test]
fn values_of_a_deployment_are_invented_for_functions_with_queues() {
    const TABLE: &str = "  T: {Type: AWS::DynamoDB::Table, Properties: {TableName: !ImportValue t}}\n";
    const OTHERS: &str = "  T: {Type: AWS::DynamoDB::Table}\n  S: {Type: AWS::S3::Bucket}\n  \
                          M: {Type: AWS::Serverless::StateMachine}\n  D: {Type: AWS::RDS::DBInstance}\n  \
                          N: {Type: AWS::SNS::Topic}\n";
    let here = "us-east-1:000000000000";
    for (value, resources, expected, set) in [
        ("!GetAtt T.Arn", OTHERS, format!("arn:aws:dynamodb:{here}:table/local-T"), "T.Arn"),
        ("!Sub '${S.Arn}/*'", OTHERS, "arn:aws:s3:::local-s/*".to_owned(), "S.Arn"),
        ("!GetAtt M.Arn", OTHERS, format!("arn:aws:states:{here}:local-M"), "M.Arn"),
        ("!GetAtt D.Endpoint.Address", OTHERS, "local-D-Endpoint.Address".to_owned(), "D.Endpoint.Address"),
        ("!ImportValue vpc:Id", "", "vpc:Id".to_owned(), "vpc:Id"),
        ("!Ref T", TABLE, "t".to_owned(), "t"),
        ("!Ref T", OTHERS, "local-T".to_owned(), "T"),
        ("!GetAtt T.TableName", OTHERS, "local-T".to_owned(), "T"),
        ("!Sub '${N}'", OTHERS, format!("arn:aws:sns:{here}:local-N"), "N"),
    ] {
        let source = with_variable(value, resources);
        let stack = stack_of(&source);
        assert_eq!(stack.functions[0].environment["B"], expected);
        assert_eq!(stack.warnings, [format!("made up: B of Work; pass --set {set}=VALUE")]);
        let given = stack_with(&source, &[(set, "own")]).unwrap();
        assert!(given.functions[0].environment["B"].contains("own"), "{value}");
        assert_eq!(given.warnings, Vec::<String>::new());
    }
    let named = stack_with(&with_variable("!Ref T", OTHERS), &[("T", "orders")]).unwrap();
    assert_eq!(named.functions[0].environment["B"], "orders");
    let odd = stack_with(&with_variable("!GetAtt T.Arn", OTHERS), &[("T.Anr", "x")]).unwrap_err();
    assert_eq!(odd.message, "--set T.Anr: this template does not need it, allowed: T.Arn");
}

#[test]
fn values_that_the_template_gives_are_not_invented() {
    let others =
        "  L: {Type: AWS::Logs::LogGroup}\n  T: {Type: AWS::DynamoDB::Table, Properties: {TableName: t}}\n";
    for value in ["!Ref Q", "!GetAtt Q.QueueName", "!Ref Work", "!Ref L", "!Ref T", "!GetAtt T.TableName"] {
        let stack = stack_of(&with_variable(value, others));
        assert!(stack.functions[0].environment.contains_key("B"), "{value}");
        assert_eq!(stack.warnings, Vec::<String>::new(), "{value}");
    }
}

#[test]
fn parts_left_out_for_one_reason_share_a_note() {
    let others = "
  T: {Type: AWS::DynamoDB::Table}
  U: {Type: AWS::DynamoDB::Table}
  B: {Type: AWS::S3::Bucket}
  Copy: {Type: AWS::Serverless::Function, Properties: {Events: {Api: {Type: HttpApi}}}}
  Move: {Type: AWS::Serverless::Function}
Parameters: {Dsn: {Type: String}}
Outputs: {One: {Value: !Ref Dsn}, Two: {Value: !Ref Dsn}}
";
    let source = QUEUE.replace("{B: own}", "{B: !Ref Dsn, C: !Ref Dsn}");
    let expected = [
        "events Api of Work, Api of Copy are of type HttpApi",
        "variables B of Work, C of Work: Dsn has no default: pass --parameter Dsn=VALUE",
        "no queue feeds functions Copy, Move",
        "T, U are of type AWS::DynamoDB::Table",
        "B is of type AWS::S3::Bucket",
        "outputs One, Two",
    ];
    assert_eq!(stack_of(&format!("{source}{others}")).notes, expected);
}

#[test]
fn a_mapping_whose_filter_is_not_known_here_is_left_out_if_others_remain() {
    let cidr = "FilterCriteria: {Filters: [{Pattern: '{\"body\": {\"ip\": [{\"cidr\": \"10.0.0.0/8\"}]}}'}]}";
    let only = format!("{QUEUE}            {cidr}\n");
    let why = "Pattern: body.ip: no such comparison: cidr, allowed: ";
    assert!(error_of(&only).starts_with(&format!("line 20: {why}")), "{}", error_of(&only));
    let mapping = "EventSourceArn: !GetAtt Q.Arn, FunctionName: !Ref Other";
    let other = format!(
        "  Other: {{Type: AWS::Serverless::Function}}\n  \
         M: {{Type: AWS::Lambda::EventSourceMapping, Properties: {{{mapping}}}}}\n"
    );
    let stack = stack_of(&format!("{only}{other}"));
    assert_eq!((stack.mappings.len(), stack.mappings[0].function.as_str()), (1, "local-Other"));
    let note = format!("mapping Work.Queue: {why}");
    assert!(stack.notes.iter().any(|it| it.starts_with(&note)), "{:?}", stack.notes);
    assert!(stack.notes.contains(&"no queue feeds function Work".to_owned()), "{:?}", stack.notes);
}

#[test]
fn a_variable_without_a_value_is_named() {
    let source = format!("Parameters: {{Dsn: {{Type: String}}}}\n{}", with_variable("!Ref Dsn", ""));
    let stack = stack_of(&source);
    assert_eq!(stack.functions[0].environment.keys().collect::<Vec<_>>(), ["A"]);
    let note = "variable B of Work: Dsn has no default: pass --parameter Dsn=VALUE";
    assert!(stack.notes.contains(&note.to_owned()), "{:?}", stack.notes);
}

#[test]
fn resources_that_no_queue_needs_are_ignored() {
    let others = "
  T: {Type: AWS::DynamoDB::Table, Properties: {TableName: !ImportValue t}}
  Role:
    Type: AWS::IAM::Role
    Properties: {Policies: [{PolicyDocument: {Statement: {Resource: !Sub '${T.Arn}/*'}}}]}
  Other:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: !ImportValue timeout
      Environment: !ImportValue environment
      Events: {Table: {Type: DynamoDB, Properties: {Stream: !GetAtt T.StreamArn, StartingPosition: LATEST}}}
  Stream:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {EventSourceArn: !GetAtt T.StreamArn, FunctionName: !Ref Other, StartingPosition: LATEST}
  Elsewhere:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {EventSourceArn: !ImportValue elsewhere, FunctionName: !Ref Other}
  Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {Statistic: Sum, Threshold: !ImportValue threshold}}
";
    let stack = stack_of(&format!("{QUEUE}{others}"));
    assert_eq!((stack.functions.len(), stack.mappings.len(), stack.alarms.len()), (1, 1, 0));
    let export = |name: &str| {
        format!("the export {name} of another stack is known only at deployment: pass --set {name}=VALUE")
    };
    for note in [
        "Stream has no SQS queue as its source".to_owned(),
        format!("mapping Elsewhere: {}", export("elsewhere")),
        "alarm Alarm (Threshold cannot be resolved)".to_owned(),
        "no queue feeds function Other".to_owned(),
    ] {
        assert!(stack.notes.contains(&note), "{note}: {:?}", stack.notes);
    }
    assert_eq!(stack.warnings, Vec::<String>::new());
}

#[test]
fn unknown_values_of_a_queue_or_its_function_are_requested() {
    let export = "the export x of another stack is known only at deployment: pass --set x=VALUE";
    let queue = QUEUE.replace(
        "Type: AWS::SQS::Queue",
        "Type: AWS::SQS::Queue, Properties: {DelaySeconds: !ImportValue x}",
    );
    assert_eq!(error_of(&queue), format!("line 7: {export}"));
    assert_eq!(stack_with(&queue, &[("x", "9")]).unwrap().queues[0].attributes["DelaySeconds"], "9");
    assert_eq!(error_of(&QUEUE.replace("512", "!ImportValue x")), format!("line 12: {export}"));
    assert_eq!(error_of(&QUEUE.replace("!GetAtt Q.Arn", "!ImportValue x")), format!("line 19: {export}"));
    let batch = format!("{QUEUE}            BatchSize: !Ref Size\nParameters: {{Size: {{Type: Number}}}}\n");
    assert_eq!(error_of(&batch), "line 21: Size has no default: pass --parameter Size=VALUE");
}

#[test]
fn the_ends_of_a_mapping_are_texts() {
    for (property, ends) in [
        ("EventSourceArn", "{EventSourceArn: [x], FunctionName: f}"),
        ("FunctionName", "{EventSourceArn: !GetAtt Q.Arn, FunctionName: [x]}"),
    ] {
        let mapping = format!("  M: {{Type: AWS::Lambda::EventSourceMapping, Properties: {ends}}}\n");
        let error = error_of(&format!("{QUEUE}{mapping}"));
        assert!(error.ends_with(&format!("{property} of M must be a string")), "{error}");
    }
}
