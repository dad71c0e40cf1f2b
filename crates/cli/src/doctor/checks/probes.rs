//! Probes by which Kubernetes checks a worker's health.

use redrive_iac::deployment::{Deployment, Platform, Probe, Seen, Worker};
use redrive_sqs::Quoted;

use crate::doctor::finding::{Check, Found, Level};
use crate::doctor::words::Words::Redrive;

const PAGE: &str = "https://kubernetes.io/docs/concepts/workloads/pods/probes/";
const HEALTH: &str = "REDRIVE_HEALTH";
/// Paths that a worker serves.
const PATHS: [&str; 3] = ["/livez", "/readyz", "/metrics"];

pub(in crate::doctor) const PROBE_FAILS: Check = Check {
    code: "probe-fails",
    level: Level::Error,
    title: "A probe calls a port or path that the worker does not serve",
    why: Redrive(
        "Kubernetes restarts the container again and again, each time in the middle of its messages, because \
         its liveness or startup probe fails. A readiness probe that fails stops a rollout. The kubelet calls \
         the pod's own address, so a worker that listens on 127.0.0.1 does not answer.",
    ),
    link: PAGE,
    fix: Redrive("Set REDRIVE_HEALTH to :8080, and probe /livez and /readyz on port 8080."),
    find: |deployment| {
        probes(deployment)
            .filter_map(|(worker, probe)| {
                let Seen::There(health) = worker.process.variable(HEALTH) else { return None };
                let Probe { kind, path, port } = probe;
                let id = &worker.id;
                let what = match (port, port_of(health)) {
                    _ if !PATHS.contains(&path.as_str()) => {
                        format!(
                            "The {kind} of {id} asks for {}, allowed: {}.",
                            Quoted(path),
                            PATHS.join(", ")
                        )
                    }
                    (_, Some(_)) if is_loopback(health) => {
                        format!("{HEALTH} of {id} is {health}, which its {kind} does not reach.")
                    }
                    (Some(probed), Some(served)) if *probed != served => {
                        format!("The {kind} of {id} asks port {probed}, but {HEALTH} is {health}.")
                    }
                    _ => return None,
                };
                Some(Found::at(worker, what))
            })
            .collect()
    },
};

pub(in crate::doctor) const PROBE_WITHOUT_HEALTH: Check = Check {
    code: "probe-without-health",
    level: Level::Warning,
    title: "A worker has a probe, but may not serve its health",
    why: Redrive(
        "Kubernetes restarts the container again and again in the middle of its messages, or never marks it ready. \
         Without REDRIVE_HEALTH, a worker listens on no port, unless its code calls Consumer::health.",
    ),
    link: PAGE,
    fix: Redrive(
        "Set REDRIVE_HEALTH to :PORT with the port of the probe, unless the code calls Consumer::health.",
    ),
    find: |deployment| {
        let without_health =
            probes(deployment).filter(|(worker, _)| worker.process.variable(HEALTH).is_absent());
        let what =
            |worker: &Worker, probe: &Probe| format!("{} has a {}, but no {HEALTH}.", worker.id, probe.kind);
        without_health.map(|(worker, probe)| Found::at(worker, what(worker, probe))).collect()
    },
};

pub(in crate::doctor) const PROBES_MISSING: Check = Check {
    code: "probes-missing",
    level: Level::Warning,
    title: "No probe checks whether a worker still works",
    why: Redrive(
        "If a worker stops receiving or extending visibility timeouts, its messages wait, and its process keeps \
         running. Only a liveness probe restarts it; until then the queue grows.",
    ),
    link: PAGE,
    fix: Redrive("Add a livenessProbe with httpGet /livez, and a readinessProbe with httpGet /readyz."),
    find: |deployment| {
        let is_probed = |worker: &Worker| worker.probes.iter().any(|probe| probe.kind == "livenessProbe");
        let unprobed = deployment.workers.iter().filter_map(|worker| {
            let Seen::There(health) = worker.process.variable(HEALTH) else { return None };
            let what =
                format!("{} serves its health at {health}, but has no livenessProbe on it.", worker.id);
            let can_be_probed = worker.platform == Platform::Kubernetes;
            (can_be_probed && !is_probed(worker)).then(|| Found::at(worker, what))
        });
        unprobed.collect()
    },
};

fn probes(deployment: &Deployment) -> impl Iterator<Item = (&Worker, &Probe)> {
    deployment.workers.iter().flat_map(|worker| worker.probes.iter().map(move |probe| (worker, probe)))
}

/// Returns the port of `:8080` or `127.0.0.1:8080`.
fn port_of(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

fn is_loopback(address: &str) -> bool {
    address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("localhost:")
}
