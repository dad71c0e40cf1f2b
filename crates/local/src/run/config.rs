//! The configuration of a [`Local`](super::Local): queues, functions, the mappings between them, and alarms.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Speed;
use crate::cloudformation::StackConfig;
use crate::cloudwatch::AlarmConfig;
use crate::mapping::MappingConfig;
use crate::runtime_api::FunctionConfig;

/// The contents of one local account and region.
#[derive(Debug, Clone)]
pub struct Config {
    /// The region in ARNs and in the functions' environment, such as `eu-west-1`.
    pub region: String,
    /// The account in ARNs and queue URLs: twelve digits.
    pub account: String,
    /// The queues, dead-letter queues before the queues that name them.
    pub queues: Vec<QueueConfig>,
    /// The functions.
    pub functions: Vec<FunctionConfig>,
    /// The mappings of queues to functions.
    pub mappings: Vec<MappingConfig>,
    /// Workers that poll queues by themselves.
    pub workers: Vec<WorkerConfig>,
    /// The alarms, evaluated at each simulated minute.
    pub alarms: Vec<AlarmConfig>,
    /// Speed of time while no invocation runs.
    pub speed: Speed,
    /// Address of the AWS endpoint, with port 0 for any free port.
    pub listen: SocketAddr,
    /// Names by which clients on other machines call the endpoint, without a port. It refuses any other `Host` that is not
    /// `localhost` or a loopback address, because a page in a browser could use it.
    pub hosts: Vec<String>,
    /// The folder that keeps the queues with their messages, even if the process is killed, but not over a power failure. Default:
    /// none, so they are lost when the process ends. It cannot be used with functions, workers or a speed.
    pub state: Option<PathBuf>,
    /// The stack that CloudFormation reports for these resources, if any.
    pub stack: Option<StackConfig>,
}

/// An empty account 000000000000 in `us-east-1`, in real time on any free port of 127.0.0.1.
impl Default for Config {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            account: "000000000000".to_owned(),
            queues: Vec::new(),
            functions: Vec::new(),
            mappings: Vec::new(),
            workers: Vec::new(),
            alarms: Vec::new(),
            speed: Speed::Times(1.0),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            hosts: Vec::new(),
            state: None,
            stack: None,
        }
    }
}

/// A worker: an executable that polls the queue in `REDRIVE_QUEUE_URL` by itself. It is restarted when it ends.
///
/// Any client that receives from its queue counts as the worker. If a client sets the visibility timeout of a message to the
/// value of the receive, the message counts as extended. With any other value it counts as given back.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The executable, its name and its environment. The limits on invocations do not apply to it.
    pub program: FunctionConfig,
    /// The name of the queue that it polls.
    pub queue: String,
    /// How long the worker may take to end after SIGTERM, in real time. After that it is killed.
    pub grace: Duration,
}

/// A queue.
#[derive(Debug, Clone, Default)]
pub struct QueueConfig {
    /// Its name. That of a FIFO queue ends in `.fifo`.
    pub name: String,
    /// Its attributes as SQS names and writes them: `VisibilityTimeout` -> `480`, `RedrivePolicy` -> JSON.
    pub attributes: BTreeMap<String, String>,
}
