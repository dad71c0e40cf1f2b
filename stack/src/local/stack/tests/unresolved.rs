use super::{QUEUE, error_of};

#[test]
fn the_url_of_a_queue_is_not_its_arn() {
    let error = error_of(&QUEUE.replace("!GetAtt Q.Arn", "!Ref Q"));
    assert!(error.starts_with("line 19: Work: no such queue in this template: http://"), "{error}");
    let dead = "Resources:\n  D: {Type: AWS::SQS::Queue}\n  Q:\n    Type: AWS::SQS::Queue\n    Properties:\n      \
                RedrivePolicy: {deadLetterTargetArn: !Ref D, maxReceiveCount: 3}";
    assert!(error_of(dead).ends_with("/local-D is not in this template"));
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

#[test]
fn a_name_that_cannot_be_worked_out_is_not_invented() {
    let table = "  T: {Type: AWS::DynamoDB::Table, Properties: {TableName: !ImportValue t}}\n  Q: {Type";
    let source = QUEUE.replace("  Q: {Type", table).replace("{B: own}", "{B: !Ref T}");
    assert!(error_of(&source).contains("use a parameter instead"), "{}", error_of(&source));
}

#[test]
fn the_ends_of_a_mapping_are_texts() {
    for (property, ends) in [
        ("EventSourceArn", "{EventSourceArn: [x], FunctionName: f}"),
        ("FunctionName", "{EventSourceArn: !GetAtt Q.Arn, FunctionName: [x]}"),
    ] {
        let mapping = format!("  M: {{Type: AWS::Lambda::EventSourceMapping, Properties: {ends}}}\n");
        let error = error_of(&format!("{QUEUE}{mapping}"));
        assert!(error.ends_with(&format!("{property} of M must be a text")), "{error}");
    }
}
