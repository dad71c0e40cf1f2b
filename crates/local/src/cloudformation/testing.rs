//! Helpers for the tests of the operations.

use super::api::SERVICE;
use super::{CloudFormation, StackConfig, StackOutput, StackResource};
use crate::protocol::testing::{Client, at};

/// Returns a client of the stack `shop` with 120 queues.
pub(super) fn client() -> Client<CloudFormation> {
    let resources = (0..120).map(|number| StackResource {
        logical_id: format!("Q{number}"),
        physical_id: format!("q{number}"),
        kind: "AWS::SQS::Queue".into(),
    });
    let output = StackOutput { key: "QueueUrl".into(), value: "http://q?a&b".into(), description: None };
    let stack = StackConfig {
        name: "shop".into(),
        template: "Resources: {}\n# tea & <milk>\n".into(),
        parameters: [("Size".to_owned(), "3".to_owned())].into(),
        outputs: vec![output],
        resources: resources.collect(),
    };
    Client::new(&SERVICE, CloudFormation::new("eu-west-1", "123456789012", Some(stack), at(0)))
}

impl Client<CloudFormation> {
    pub(super) fn accepts(&mut self, form: &str) -> String {
        let answer = self.form(form);
        assert!(answer.starts_with("200 "), "{answer}");
        answer
    }

    pub(super) fn refuses(&mut self, form: &str) -> String {
        let answer = self.form(form);
        assert!(answer.starts_with("400 "), "{answer}");
        answer
    }
}
