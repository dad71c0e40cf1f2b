//! The Lambda Runtime API, and the processes of a function that speak it.
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>
//!
//! A process handles one invocation at a time, so concurrent invocations need several processes. Each has its own Runtime
//! API, with its own port and path, which ends with it, so that late calls of an old process reach nobody. Only the process
//! knows the path, so nobody else can take its invocations or answer them.

mod address;
mod config;
mod environment;
mod log;
mod process;
mod program;
mod routes;
mod tail;

use std::io;
use std::path::Path;
use std::time::Duration;

use aws_sdk_sqs::config::Credentials;
use bytes::Bytes;

pub(crate) use address::AddressForm;
pub use config::FunctionConfig;
pub(crate) use log::{Log, LogLine};
pub(crate) use process::Process;
pub(crate) use program::Program;
pub use routes::{Exchange, Offer, Reply, routes};

/// The data that a process of a function or worker needs.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) config: FunctionConfig,
    pub(crate) address_form: AddressForm,
    pub(crate) region: String,
    pub(crate) account: String,
    pub(crate) access: Access,
}

/// A function's access to AWS.
#[derive(Debug, Clone)]
pub struct Access {
    /// The endpoint of all services, or None for AWS itself.
    pub endpoint_url: Option<String>,
    /// The function's credentials. A process keeps them as long as it lives.
    pub credentials: Credentials,
}

/// The end of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "for benchmarks alone")]
pub enum Ended {
    /// The function answered.
    Response(Bytes),
    /// The function reported an error.
    Error(String),
    /// The invocation ran past its timeout.
    TimedOut,
    /// The process ended.
    Exited(String),
}

/// How long a process may take until it first requests work.
/// <https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>
const INIT_LIMIT: Duration = Duration::from_secs(10);

/// Largest event and largest response, in bytes.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const LARGEST_PAYLOAD: usize = 6 << 20;

impl Function {
    /// Returns the directory of the function's code, in which it also runs.
    fn root(&self) -> &Path {
        let beside = || self.config.command.parent().unwrap_or(Path::new("."));
        self.config.folder.as_deref().unwrap_or_else(beside)
    }

    /// Starts the executable as a worker, which polls the queue at this URL by itself, and does not outlive this process.
    ///
    /// # Errors
    /// Returns an error if it cannot be run.
    pub(crate) fn work(&self, queue_url: &str, log: &Log) -> io::Result<Program> {
        Program::spawn(self, environment::of_worker(self, queue_url), log)?.watched()
    }

    fn arn(&self) -> String {
        format!("arn:aws:lambda:{}:{}:function:{}", self.region, self.account, self.config.name)
    }
}
