//! CloudFormation: the operations that read the one stack from which everything else was created.
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/Welcome.html>

pub(crate) mod api;
mod config;
mod resources;
mod stacks;
#[cfg(test)]
mod testing;

use std::time::SystemTime;

use humantime::format_rfc3339_millis;

pub use config::{StackConfig, StackOutput, StackResource};

use crate::clock::ClientClock;
use crate::protocol::{AwsError, VALIDATION};

/// The stacks of one account in one region: at most one.
#[derive(Debug)]
pub(crate) struct CloudFormation {
    region: String,
    account: String,
    stack: Option<StackConfig>,
    created: SystemTime,
}

impl CloudFormation {
    pub(crate) fn new(region: &str, account: &str, stack: Option<StackConfig>, now: SystemTime) -> Self {
        Self { region: region.to_owned(), account: account.to_owned(), stack, created: now }
    }

    /// Returns the stack of this name or id.
    fn find(&self, name: &str) -> Result<&StackConfig, AwsError> {
        let found = self.stack.as_ref().filter(|stack| stack.name == name || self.id(stack) == name);
        found.ok_or_else(|| VALIDATION.error(format!("Stack with id {name} does not exist")))
    }

    /// Returns the value of `AWS::StackId`.
    fn id(&self, stack: &StackConfig) -> String {
        format!(
            "arn:aws:cloudformation:{}:{}:stack/{}/a1b2c3d4-a1b2-41b2-81b2-a1b2c3d4e5f6",
            self.region, self.account, stack.name
        )
    }

    fn created(&self, clock: ClientClock) -> String {
        format_rfc3339_millis(clock.to_client(self.created)).to_string()
    }
}
