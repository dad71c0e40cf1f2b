//! A worker: a container that polls a queue itself, on ECS or Kubernetes.

use std::time::Duration;

use super::Process;

/// What makes a container a worker.
pub(super) const QUEUE_URL: &str = "REDRIVE_QUEUE_URL";

/// Whether a variable is for a queue's URL, by its name.
pub(super) fn is_variable(name: &str) -> bool {
    name.ends_with("QUEUE_URL")
}

#[derive(Debug, Clone, Default)]
pub struct Worker {
    pub process: Process,
    pub platform: Platform,
    /// The ARN of the queue at `REDRIVE_QUEUE_URL`, if that is one of the subject's.
    pub queue_arn: Option<String>,
    /// How long after SIGTERM the platform kills it.
    pub grace_period: Option<Duration>,
    /// What asks it for its health over HTTP.
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
    /// None if it is not known.
    pub port: Option<u16>,
}

/// What KEDA scales a worker by.
/// <https://keda.sh/docs/latest/scalers/aws-sqs/>
#[derive(Debug, Clone, Default)]
pub struct Scaler {
    /// Whether messages in flight count as waiting (`scaleOnInFlight`).
    pub counts_in_flight: Option<bool>,
    pub line: Option<usize>,
    pub id: String,
}

impl Platform {
    /// Where nothing is said: that of Fargate and of the ECS agent, and that of Kubernetes.
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html#ECS-Type-ContainerDefinition-stopTimeout>
    pub const GRACE_PERIOD: Duration = Duration::from_secs(30);

    /// What sets the grace period.
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
