//! What the tests of CloudFormation share.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::Request;

use super::{CloudFormation, answer};
use crate::clock::ClientClock;
use crate::cloudformation::{StackConfig, StackOutput, StackResource};

/// The stack `shop` with 120 queues, or none.
pub(super) struct World(CloudFormation);

impl World {
    pub(super) fn new() -> Self {
        let resources = (0..120).map(|number| StackResource {
            logical_id: format!("Q{number}"),
            physical_id: format!("q{number}"),
            kind: "AWS::SQS::Queue".into(),
        });
        let output = StackOutput { key: "QueueUrl".into(), value: "http://q?a&b".into(), description: None };
        Self::with(Some(StackConfig {
            name: "shop".into(),
            template: "Resources: {}\n# tea & <milk>\n".into(),
            parameters: [("Size".to_owned(), "3".to_owned())].into(),
            outputs: vec![output],
            resources: resources.collect(),
        }))
    }

    pub(super) fn without_stack() -> Self {
        Self::with(None)
    }

    fn with(stack: Option<StackConfig>) -> Self {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        Self(CloudFormation::new("eu-west-1", "123456789012", stack, now))
    }

    fn call(&self, form: &str) -> (u16, String) {
        let body = Bytes::from(format!("Version=2010-05-15&{form}"));
        let request = Request::post("/").body(body).unwrap();
        let (response, _) = answer(&self.0, &request, ClientClock::default());
        (response.status().as_u16(), String::from_utf8(response.body().to_vec()).unwrap())
    }

    /// Asks for something that must succeed.
    pub(super) fn ask(&self, form: &str) -> String {
        let (status, answer) = self.call(form);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Asks for something that must be refused.
    pub(super) fn refused(&self, form: &str) -> String {
        let (status, answer) = self.call(form);
        assert_eq!(status, 400, "{answer}");
        answer
    }
}
