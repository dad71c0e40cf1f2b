use std::path::Path;

use super::super::{Probe, Seen};
use super::*;

fn deployment(text: &str) -> Deployment {
    read(&Source::new(Path::new("k8s.yaml"), text, &[])).unwrap()
}

fn manifest(container: &str) -> String {
    format!(
        "# A comment alone is no document.
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: orders}}
spec:
  template:
    spec:
      containers: [{{name: work, {container}}}]
"
    )
}

const URL: &str = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";

#[test]
fn a_container_with_a_queue_is_a_worker_and_others_are_not() {
    let container = format!(
        "env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}], ports: [{{name: health, containerPort: 8080}}],
        livenessProbe: {{httpGet: {{path: /livez, port: health}}}}, readinessProbe: {{exec: {{command: [x]}}}}"
    );
    let found = deployment(&manifest(&container));
    let [worker] = &found.workers[..] else { panic!("expected one worker") };
    assert_eq!((worker.id.as_str(), worker.line, worker.queue_url()), ("orders", Some(9), Some(URL)));
    assert_eq!(worker.grace_period, Some(Platform::GRACE_PERIOD));
    let probe = Probe { kind: "livenessProbe", path: "/livez".to_owned(), port: Some(8080) };
    assert_eq!(worker.probes, [probe]);
    let unseen = [
        format!("the queue of orders: {URL} is not in this file"),
        "the permissions of orders: its IAM role is not in this file".to_owned(),
    ];
    assert_eq!(found.lines_not_read(), unseen);
    assert_eq!(deployment(&manifest("env: [{name: TABLE, value: a}]")).workers.len(), 0);
}

#[test]
fn variables_come_from_the_files_own_config_maps_and_from_elsewhere() {
    let map = "---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {REDRIVE_DRAIN: '40', REDRIVE_QUEUE_URL: old, HEALTH: ':1'}}
";
    let container = format!(
        "envFrom: [{{configMapRef: {{name: own}}}}],
        env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}, {{name: REDRIVE_BACKOFF, valueFrom: {{secretKeyRef: {{name: s, key: k}}}}}},
          {{name: REDRIVE_HEALTH, valueFrom: {{configMapKeyRef: {{name: own, key: HEALTH}}}}}}, {{name: REDRIVE_LOG, value: '$(LEVEL)'}}]"
    );
    let found = deployment(&(manifest(&container) + map));
    let process = &found.workers[0].process;
    for (name, expected) in [
        ("REDRIVE_DRAIN", Seen::There("40")),
        ("REDRIVE_QUEUE_URL", Seen::There(URL)),
        ("REDRIVE_HEALTH", Seen::There(":1")),
        ("REDRIVE_BACKOFF", Seen::Unknown),
        ("REDRIVE_LOG", Seen::Unknown),
        ("REDRIVE_METRICS", Seen::Absent),
    ] {
        assert_eq!(process.variable(name), expected, "{name}");
    }
    let elsewhere = deployment(&(manifest(&container.replace("name: own}}]", "name: other}}]")) + map));
    assert_eq!(elsewhere.workers[0].process.variable("REDRIVE_METRICS"), Seen::Unknown);
    assert!(elsewhere.lines_not_read().contains(&"envFrom of orders: its value is not in this file"));
}

#[test]
fn a_config_map_is_of_its_own_namespace() {
    let map = |namespace: &str, drain: u32| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: own, {namespace}}}\ndata: {{REDRIVE_DRAIN: '{drain}'}}\n"
        )
    };
    let container = format!(
        "envFrom: [{{configMapRef: {{name: own}}}}], env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}]"
    );
    let drain = |namespace: &str, maps: &str| {
        let own = format!("{{name: orders, {namespace}}}");
        let found = deployment(&(manifest(&container).replace("{name: orders}", &own) + maps));
        found.workers[0].process.variable("REDRIVE_DRAIN").there().map(|it| (*it).to_owned())
    };
    let both = map("namespace: prod", 1) + &map("namespace: test", 2);
    assert_eq!(drain("namespace: prod", &both).as_deref(), Some("1"));
    assert_eq!(drain("namespace: test", &both).as_deref(), Some("2"));
    assert_eq!(drain("namespace: other", &both), None);
    // Without a namespace in the file, kubectl's flag decides.
    assert_eq!(drain("", &both), None);
    assert_eq!(drain("", &map("namespace: prod", 1)).as_deref(), Some("1"));
    assert_eq!(drain("namespace: prod", &map("", 3)).as_deref(), Some("3"));
}

#[test]
fn workers_that_are_not_read_are_named() {
    let worker = format!("env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}]");
    let of_kind = |kind: &str| manifest(&worker).replace("kind: Deployment", &format!("kind: {kind}"));
    let told = |text: &str| {
        let found = deployment(text);
        let absent: Vec<_> = found.absent.iter().map(|it| it.id.clone()).collect();
        (
            found.workers.len(),
            absent.join(" "),
            found.lines_not_read().first().copied().unwrap_or_default().to_owned(),
        )
    };
    for kind in WORKLOADS {
        assert_eq!(told(&of_kind(kind)).0, 1, "{kind}");
    }
    let unread = "orders: workers of the kind Job are not checked, only those of Deployment, StatefulSet, DaemonSet, Rollout";
    assert_eq!(told(&of_kind("Job")), (0, "orders".to_owned(), unread.to_owned()));
    let job = manifest(&worker)
        .replace("kind: Deployment", "kind: CronJob")
        .replace("  template:\n    spec:", "  jobTemplate:\n    spec:");
    assert_eq!(told(&job).1, "orders");
    let owned = of_kind("ReplicaSet")
        .replace("{name: orders}", "{name: orders-1, ownerReferences: [{kind: Deployment, name: orders}]}");
    assert_eq!(told(&(of_kind("Deployment") + &owned)).1, "");
    let doubtful = "envFrom: [{secretRef: {name: s}}], env: [{name: REDRIVE_BACKOFF, value: '1'}]";
    let why = "a ConfigMap or Secret that is not in this file may set REDRIVE_QUEUE_URL";
    assert_eq!(
        told(&manifest(doubtful)),
        (0, "orders".to_owned(), format!("whether orders is a worker: {why}"))
    );
    assert_eq!(told(&manifest("envFrom: [{secretRef: {name: s}}]")), (0, String::new(), String::new()));
}

#[test]
fn json_and_quoted_keys_are_manifests_too() {
    let json = format!(
        "{{\n\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{{\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\", \"metadata\": {{\"name\": \"a\"}}, \
         \"spec\": {{\"template\": {{\"spec\": {{\"containers\": [{{\"env\": [{{\"name\": \"REDRIVE_QUEUE_URL\", \"value\": \"{URL}\"}}]}}]}}}}}}}}]}}"
    );
    let quoted = manifest(&format!("env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}]"))
        .replace("apiVersion:", "\"apiVersion\":")
        .replace("kind:", "'kind':");
    for text in [json, quoted] {
        assert!(is_kubernetes(&text), "{text}");
        assert_eq!(deployment(&text).workers.len(), 1, "{text}");
    }
    assert!(!is_kubernetes("{\"Resources\": {}, \"apiVersion\": 1}"));
}

#[test]
fn a_scaler_is_a_workers_by_its_name_or_by_its_variable() {
    let scaled = |target: &str, metadata: &str| {
        let text = format!(
            "---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {{name: scaled}}
spec:
  scaleTargetRef: {{name: {target}}}
  triggers: [{{type: cron}}, {{type: aws-sqs-queue, metadata: {{{metadata}}}}}]
"
        );
        let worker = manifest(&format!("env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}]"));
        let scalers = deployment(&(worker + &text)).scalers;
        scalers.iter().map(|scaler| scaler.counts_in_flight).collect::<Vec<_>>()
    };
    assert_eq!(scaled("orders", "queueLength: '5'"), [Some(true)]);
    assert_eq!(scaled("orders", "scaleOnInFlight: 'false'"), [Some(false)]);
    assert_eq!(scaled("orders", "scaleOnInFlight: perhaps"), [None]);
    assert_eq!(scaled("other", "queueURLFromEnv: REDRIVE_QUEUE_URL"), [Some(true)]);
    assert_eq!(scaled("other", "queueURLFromEnv: QUEUE_URL"), []);
}

#[test]
fn other_files_are_not_read_as_manifests() {
    assert!(is_kubernetes(&manifest("image: x")));
    assert!(!is_kubernetes("Resources:\n  Q: {Type: AWS::SQS::Queue}\n"));
    let error = read(&Source::new(Path::new("k8s.yaml"), "kind: A\n---\napiVersion: [\n", &[])).unwrap_err();
    assert_eq!(error.line, 3);
    let given = [("Stage".to_owned(), "prod".to_owned())];
    let error = read(&Source::new(Path::new("k8s.yaml"), &manifest("image: x"), &given)).unwrap_err();
    assert_eq!(error.message, "no parameter Stage: Kubernetes manifests have none");
}
