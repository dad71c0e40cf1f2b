//! The settings of a worker, one method each.

use std::net::SocketAddr;
use std::time::Duration;

use crate::work::Input;
use crate::{Consumer, Handler};

impl<H, M> Consumer<H, M>
where
    H: Handler<M>,
    M: Input,
{
    /// How long a worker's handlers may continue after shutdown begins, at most 3,600 s. Default: 25 s. The platform
    /// must wait 5 s longer before it kills the process: `stopTimeout` on ECS, `terminationGracePeriodSeconds` on
    /// Kubernetes, both 30 s by default.
    #[must_use]
    pub fn drain(mut self, limit: Duration) -> Self {
        self.settings.drain = self.settings.keep(limit);
        self
    }

    /// Where a worker serves `/livez`, `/readyz` and `/metrics` over HTTP. Default: nowhere. In the variable, `:8080`
    /// without a host means all interfaces.
    #[must_use]
    pub fn health(mut self, address: SocketAddr) -> Self {
        self.settings.health = Some(address);
        self
    }

    /// Whether a worker protects its ECS task from scale-in and deployments while it handles messages (`on` or
    /// `off`). Default: off. Outside ECS it has no effect.
    /// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
    #[must_use]
    pub fn task_protection(mut self, protects: bool) -> Self {
        self.settings.task_protection = Some(protects);
        self
    }
}
