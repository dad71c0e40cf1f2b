//! The Lambda Runtime API, and the processes of a function that speak it.
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>
//!
//! A process handles one invocation at a time, so more at once are more processes. Each has a Runtime API of its own,
//! on a port and under a path of its own, which ends with it: what an old process says late reaches nobody. Nobody but
//! the process knows the path, so that nobody else can take its invocations or answer them.

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
pub(crate) use log::{Line, Log};
pub(crate) use process::Process;
pub(crate) use program::Program;
pub use routes::{Exchange, Offer, Reply, routes};

/// What a process of a function, or of a worker, needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) config: FunctionConfig,
    pub(crate) address_form: AddressForm,
    pub(crate) region: String,
    pub(crate) account: String,
    pub(crate) access: Access,
}

/// What a function reaches AWS with.
#[derive(Debug, Clone)]
pub struct Access {
    /// The endpoint of every service; none for AWS itself.
    pub endpoint_url: Option<String>,
    /// Who the function is to AWS. It keeps these credentials as long as a process of it lives.
    pub credentials: Credentials,
}

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "for benchmarks alone")]
pub enum Ended {
    /// The function answered.
    Response(Bytes),
    /// The function reported an error.
    Error(String),
    /// It ran past its timeout.
    TimedOut,
    /// Its process ended.
    Exited(String),
}

/// How long a process may take until it first asks for work.
/// <https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>
const INIT_LIMIT: Duration = Duration::from_secs(10);

/// The largest event and the largest response.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const LARGEST_PAYLOAD: usize = 6 << 20;

impl Function {
    /// The directory that the function's code is in, which it also runs in.
    fn root(&self) -> &Path {
        let beside = || self.config.command.parent().unwrap_or(Path::new("."));
        self.config.folder.as_deref().unwrap_or_else(beside)
    }

    /// Starts its executable as a worker, which polls the queue at this URL by itself, and does not outlive this process.
    ///
    /// # Errors
    /// It cannot be run.
    pub(crate) fn work(&self, queue_url: &str, log: &Log) -> io::Result<Program> {
        Program::spawn(self, environment::of_worker(self, queue_url), log)?.watched()
    }

    fn arn(&self) -> String {
        format!("arn:aws:lambda:{}:{}:function:{}", self.region, self.account, self.config.name)
    }
}
