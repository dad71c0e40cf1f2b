//! Lambda's API for functions that queues feed and for their mappings, as plain values: request and time are arguments.
//! <https://docs.aws.amazon.com/lambda/latest/api/welcome.html>
//!
//! The driver applies clients' changes before it does anything else.

pub(crate) mod api;
mod concurrency;
mod error;
mod function;
mod functions;
mod list_mappings;
mod mapping;
mod request;
mod update_mapping;
#[cfg(test)]
mod testing;

use std::time::SystemTime;

pub(crate) use mapping::EventSourceMapping;

use crate::mapping::MappingConfig;
use crate::runtime_api::FunctionConfig;
use function::Function;

/// The functions and event source mappings of one account in one region.
#[derive(Debug)]
pub(crate) struct Lambda {
    region: String,
    account: String,
    functions: Vec<Function>,
    mappings: Vec<EventSourceMapping>,
    /// Number of changes that clients have made.
    revision: u64,
}

impl Lambda {
    pub(crate) fn new(
        region: &str,
        account: &str,
        functions: &[FunctionConfig],
        mappings: &[MappingConfig],
        now: SystemTime,
    ) -> Self {
        Self {
            region: region.to_owned(),
            account: account.to_owned(),
            functions: functions.iter().map(|config| Function::new(config.clone(), now)).collect(),
            mappings: mappings.iter().map(|config| EventSourceMapping::new(config.clone(), now)).collect(),
            revision: 0,
        }
    }

    /// Adds a mapping and its function, and returns its index.
    pub(crate) fn add(&mut self, mapping: &MappingConfig, now: SystemTime) -> usize {
        let function = FunctionConfig { name: mapping.function.clone(), ..FunctionConfig::default() };
        self.functions.push(Function::new(function, now));
        self.mappings.push(EventSourceMapping::new(mapping.clone(), now));
        self.mappings.len() - 1
    }

    /// Returns the number of changes that clients have made.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the mappings in the order in which they were added.
    pub(crate) fn mappings(&self) -> &[EventSourceMapping] {
        &self.mappings
    }

    /// Returns the most invocations of a function at once, if it has a reservation.
    pub(crate) fn reserved_concurrency(&self, function: &str) -> Option<usize> {
        self.function(function)?.config.reserved_concurrency
    }

    /// Marks a mapping's change as complete, after the driver has applied it. A mapping that is disabled has then nothing
    /// under way.
    pub(crate) fn settled(&mut self, index: usize, now: SystemTime) {
        self.mappings[index].settle(now);
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.config.name == name)
    }

    fn arn(&self, resource: &str) -> String {
        format!("arn:aws:lambda:{}:{}:{resource}", self.region, self.account)
    }

    fn function_arn(&self, name: &str) -> String {
        self.arn(&format!("function:{name}"))
    }

    fn queue_arn(&self, queue: &str) -> String {
        format!("arn:aws:sqs:{}:{}:{queue}", self.region, self.account)
    }
}
