//! A worker: a container that polls a queue itself, on ECS or Kubernetes.

use std::time::Duration;

use super::Process;

/// The variable that makes a container a worker.
pub(super) const QUEUE_URL: &str = "REDRIVE_QUEUE_URL";

/// Returns true if a variable's name says that it holds a queue's URL.
pub(super) fn is_variable(name: &str) -> bool {
    name.ends_with("QUEUE_URL")
}

#[derive(Debug, Clone, Default)]
pub struct Worker {
    pub process: Process,
    pub platform: Platform,
    /// ARN of the queue at `REDRIVE_QUEUE_URL`, if the deployment has that queue.
    pub queue_arn: Option<String>,
    /// Time from SIGTERM until the platform kills it.
    pub grace_period: Option<Duration>,
    /// Probes of its health over HTTP.
    pub probes: Vec<Probe>,
    pub line: Option<usize>,
    /// Logical id in a template, else the name.
    pub id: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Platform {
    #[default]
    Ecs,
    Kubernetes,
}

/// <https://kubernetes.io/docs/concepts/workloads/pods/probes/>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probe {
    /// `livenessProbe`, ...
    pub kind: &'static str,
    pub path: String,
    /// None if it is unknown.
    pub port: Option<u16>,
}

/// A trigger by which KEDA scales a worker.
/// <https://keda.sh/docs/latest/scalers/aws-sqs/>
#[derive(Debug, Clone, Default)]
pub struct Scaler {
    /// True if messages in flight count as waiting (`scaleOnInFlight`).
    pub counts_in_flight: Option<bool>,
    pub line: Option<usize>,
    pub id: String,
}

impl Platform {
    /// Default of Fargate, of the ECS agent, and of Kubernetes.
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html#ECS-Type-ContainerDefinition-stopTimeout>
    pub const GRACE_PERIOD: Duration = Duration::from_secs(30);

    /// Returns the property that sets the grace period.
    pub const fn grace_property(self) -> &'static str {
        match self {
            Self::Ecs => "StopTimeout",
            Self::Kubernetes => "terminationGracePeriodSeconds",
        }
    }
}

impl Worker {
    pub fn queue_url(&self) -> Option<&str> {
        self.process.variable(QUEUE_URL).there().copied()
    }
}
