//! A stack as CloudFormation lists it: parameters, outputs and resources.

use std::collections::BTreeMap;

use super::Resolver;
use crate::document::{Node, Value};

/// Types into which SAM turns its own.
/// <https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification-generated-resources.html>
const GENERATED: [(&str, &str); 1] = [("AWS::Serverless::Function", "AWS::Lambda::Function")];

/// An output with its resolved value.
#[derive(Debug, PartialEq, Eq)]
pub struct Output {
    pub key: String,
    pub value: String,
    pub description: Option<String>,
}

/// A resource as a deployed stack lists it.
#[derive(Debug, PartialEq, Eq)]
pub struct DeployedResource {
    pub logical_id: String,
    pub physical_id: String,
    pub kind: String,
}

impl Resolver<'_> {
    /// Returns all parameters, with lists as CloudFormation writes them.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let text = |value: &Value| match value {
            Value::List(items) => items.iter().filter_map(Node::as_text).collect::<Vec<_>>().join(","),
            Value::Text(text) => text.clone(),
            Value::Null | Value::Map(_) | Value::Unknown(_) => String::new(),
        };
        self.parameters.iter().map(|(name, value)| (name.clone(), text(value))).collect()
    }

    /// Returns the outputs whose condition is not false, and the keys of those that cannot be resolved here.
    pub fn outputs(&self) -> (Vec<Output>, Vec<String>) {
        let (mut outputs, mut unknown) = (Vec::new(), Vec::new());
        for (key, output) in self.template.entries_at("Outputs") {
            let exists = match self.exists(output) {
                Ok(false) => continue,
                exists => exists,
            };
            match exists.ok().and_then(|_| output.get("Value")).map(|value| self.text(value)) {
                Some(Ok(value)) => {
                    let description = output.text_at("Description").map(str::to_owned);
                    outputs.push(Output { key: key.clone(), value, description });
                }
                // Nothing that runs here needs it.
                Some(Err(_)) | None => unknown.push(key.clone()),
            }
        }
        (outputs, unknown)
    }

    /// Returns all resources that exist, as they are after SAM's transform.
    pub fn deployed(&self) -> Vec<DeployedResource> {
        let resources = self.kinds().into_iter();
        let deployed = resources.map(|(id, kind)| {
            let generated = GENERATED.iter().find(|(sam, _)| *sam == kind).map(|(_, kind)| *kind);
            let reference = self.reference(&Node::text(0, id)).ok().flatten();
            let name = reference.as_ref().and_then(Node::as_text).map(str::to_owned);
            DeployedResource {
                logical_id: id.to_owned(),
                physical_id: name.unwrap_or_else(|| format!("{}-{id}", self.stack())),
                kind: generated.unwrap_or(kind).to_owned(),
            }
        });
        deployed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Gaps;
    use super::*;
    use crate::parse;
    use crate::properties::surroundings;

    const TEMPLATE: &str = "
Parameters:
  Size: {Type: Number, Default: 30}
  Zones: {Type: CommaDelimitedList, Default: 'a, b'}
Conditions: {Never: !Equals [a, b]}
Resources:
  Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: orders}}
  Work: {Type: AWS::Serverless::Function}
  Logs: {Type: AWS::Logs::LogGroup, Properties: {LogGroupName: !ImportValue logs}}
  Topic: {Type: AWS::SNS::Topic, Condition: Never}
Outputs:
  QueueUrl: {Value: !Ref Queue, Description: Where messages are sent.}
  Never: {Value: !Ref Topic, Condition: Never}
  Url: {Value: !GetAtt Work.Url}
";

    #[test]
    fn a_stack_says_its_parameters_outputs_and_resources() {
        let (template, surroundings) = (parse(TEMPLATE).unwrap(), surroundings());
        let resolver = Resolver::new(&template, &[], &surroundings, Gaps::Settable).unwrap();
        let text = |text: &str| text.to_owned();
        assert_eq!(resolver.parameters(), [(text("Size"), text("30")), (text("Zones"), text("a,b"))].into());
        let queue_url = text("http://127.0.0.1:0/000000000000/orders");
        let output = Output {
            key: text("QueueUrl"),
            value: queue_url.clone(),
            description: Some(text("Where messages are sent.")),
        };
        assert_eq!(resolver.outputs(), (vec![output], vec![text("Url")]));
        let resource = |id: &str, physical: &str, kind: &str| DeployedResource {
            logical_id: text(id),
            physical_id: text(physical),
            kind: text(kind),
        };
        assert_eq!(
            resolver.deployed(),
            [
                resource("Queue", &queue_url, "AWS::SQS::Queue"),
                resource("Work", "local-Work", "AWS::Lambda::Function"),
                resource("Logs", "local-Logs", "AWS::Logs::LogGroup"),
            ]
        );
    }
}
