//! Hostile files that could cost the doctor all time and memory: it refuses each, or reads it within bounds.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::support::Ran;

const URL: &str = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";

/// What the doctor says of a text, with less memory than these files would take.
fn doctor(name: &str, text: &str) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), text).expect("it can be written");
    bounded(&format!("doctor {name}"), folder.path(), "")
}

/// `redrive` with 1 GB of address space.
fn bounded(line: &str, folder: &std::path::Path, stdin: &str) -> Ran {
    let limit = if cfg!(target_os = "linux") { "ulimit -v 1000000 && " } else { "" };
    let mut child = Command::new("sh")
        .args(["-c", &format!("{limit}exec {} {line}", env!("CARGO_BIN_EXE_redrive"))])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut input = child.stdin.take().expect("it is piped");
    // It may have read enough.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    let output: Output = child.wait_with_output().expect("it ends");
    Ran::new(&output)
}

/// Each level doubles what the one before holds.
fn doubling(first: &str, levels: usize) -> String {
    let lines = (1..=levels).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1));
    format!("apiVersion: v1\nkind: ConfigMap\na0: &a0 {first}\n{}", lines.collect::<String>())
}

fn deployment(name: &str, container: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec: {{template: {{spec: {{containers: [{{name: work, {container}}}]}}}}}}
"
    )
}

fn worker(name: &str) -> String {
    deployment(
        name,
        &format!(
            "env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}, {{name: REDRIVE_HEALTH, value: ':80'}}]"
        ),
    )
}

#[test]
fn manifests_that_would_take_all_memory_are_refused() {
    let aliases = "too large once its aliases are expanded";
    let copies = "too large once its ConfigMaps are in its containers";
    let kib = "x".repeat(1_024);
    let config = |data: &str| {
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: own}}\ndata:\n{data}---\n")
    };
    let entries: String = (0..300).map(|at| format!("  K{at}: {kib}\n")).collect();
    let from = "envFrom: [".to_owned() + &"{configMapRef: {name: own}}, ".repeat(500) + "]";
    let prefixes: String =
        (0..500).map(|at| format!("{{prefix: P{at}, configMapRef: {{name: own}}}}, ")).collect();
    let one = format!("  K: {}\n", "x".repeat(500_000));
    let keys: String = (0..2_000)
        .map(|at| format!("{{name: V{at}, valueFrom: {{configMapKeyRef: {{name: own, key: K}}}}}}, "))
        .collect();
    for (what, text, expected) in [
        ("aliases in one document", doubling("[x]", 25), aliases),
        // Each is within the bounds of one.
        (
            "aliases in many documents",
            format!("{}---\n", doubling("[x]", 17)).repeat(100) + &doubling("[x]", 17),
            aliases,
        ),
        ("merges", doubling("{k: v}", 25).replace('[', "{<<: [").replace(']', "]}"), aliases),
        (
            "a large scalar",
            format!(
                "apiVersion: v1\nkind: A\na: &a {}\nb: [{}]\n",
                "x".repeat(500_000),
                "*a, ".repeat(1_000)
            ),
            aliases,
        ),
        ("documents", format!("{}{}", "---\n".repeat(6_000), worker("a")), "more than 5000 YAML documents"),
        (
            "empty documents",
            format!("{}{}", "--- {}\n".repeat(6_000), worker("a")),
            "more than 5000 YAML documents",
        ),
        (
            "a list",
            format!("apiVersion: v1\nkind: List\nitems:\n- &a {{kind: A}}\n{}", "- *a\n".repeat(6_000)),
            "more than 5000 Kubernetes resources",
        ),
        ("all of a ConfigMap", config(&entries) + &deployment("a", &from), copies),
        (
            "all of it under other names",
            config(&entries) + &deployment("a", &format!("envFrom: [{prefixes}]")),
            copies,
        ),
        ("one variable of it", config(&one) + &deployment("a", &format!("env: [{keys}]")), copies),
        (
            "depth",
            format!("apiVersion: v1\nkind: A\na: {}\n", "[".repeat(200) + &"]".repeat(200)),
            "nested more than 100 levels deep",
        ),
        (
            "lists in lists",
            format!("apiVersion: v1\nkind: A\na:\n {}x\n", "- ".repeat(100_000)),
            "nested more than",
        ),
        (
            "keys",
            format!("apiVersion: v1\nkind: A\n? {}\n: b\n", "k".repeat(2_000)),
            "a key of more than 1024 bytes",
        ),
        (
            "size",
            format!("{}# {}\n", worker("a"), "x".repeat(8 << 20)),
            "more than 8388608 bytes; split the manifests into several files",
        ),
    ] {
        let ran = doctor("k8s.yaml", &text);
        assert!(ran.code == 2 && ran.stderr.contains(expected), "{what}: {} {:.400}", ran.code, ran.stderr);
        assert!(ran.stderr.len() < 1_000, "{what}: {} bytes", ran.stderr.len());
    }
}

#[test]
fn manifests_of_a_large_cluster_are_read() {
    let labels = "x".repeat(900);
    let workers: String = (0..2_000)
        .map(|at| {
            worker(&format!("w{at}"))
                .replace("metadata: {", &format!("metadata: {{annotations: {{a: {labels}}}, "))
                + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {A: b}\n"
                + &format!("# {labels}\n---\n")
        })
        .collect();
    assert!(workers.len() > 4_000_000, "{}", workers.len());
    let text = format!("{workers}# redrive:accept=probes-missing: it is a batch\n{}", worker("last"));
    let ran = doctor("k8s.yaml", &text);
    assert!(ran.stderr.contains("accepted: probes-missing at k8s.yaml:"), "{:.400}", ran.stderr);
    ran.ended(0);
}

#[test]
fn unknown_variables_without_number_are_counted() {
    let variables: String = (0..4_000).map(|at| format!("  REDRIVE_K{at}: x\n")).collect();
    let map =
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: own}}\ndata:\n{variables}---\n");
    let workers: String = (0..50)
        .map(|at| {
            let from = format!("envFrom: [{{configMapRef: {{name: own}}}}], env: [{{name: REDRIVE_QUEUE_URL, value: '{URL}'}}]");
            deployment(&format!("w{at}"), &from) + "---\n"
        })
        .collect();
    let ran = doctor("k8s.yaml", &(workers + &map));
    assert!(ran.stdout.contains("w49 sets 3,980 more unknown variables."), "{:.400}", ran.stdout);
    assert!(ran.stdout.len() < 1_000_000, "{} bytes", ran.stdout.len());
}

#[test]
fn many_documents_take_no_more_than_one() {
    let empty = "---\n# nothing\n".repeat(4_000);
    let lines = "\n".repeat(700_000);
    let ran = doctor("k8s.yaml", &format!("{lines}{empty}---\n{}", worker("orders")));
    ran.stdout_has("probes-missing at k8s.yaml:708005").ended(0);
}

#[test]
fn manifests_are_read_as_kubernetes_reads_them() {
    let plain = worker("orders");
    let list = |kind: &str, item: &str| {
        format!("apiVersion: v1\nkind: {kind}\nitems:\n- {}\n", item.trim_end().replace('\n', "\n  "))
    };
    let without_kind = plain.replace("apiVersion: apps/v1\nkind: Deployment\n", "");
    for (what, text) in [
        ("plain", plain.clone()),
        ("a byte order mark", format!("\u{feff}{plain}")),
        ("Windows", format!("---\n{plain}---\nkind: A\n").replace('\n', "\r\n")),
        ("directives", format!("%YAML 1.1\n---\n{plain}...\n# end\n")),
        ("a comment behind the mark", format!("--- # first\n{plain}")),
        (
            "dashes in a text",
            format!(
                "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    x\n    ---\n    kind: A\n---\n{plain}"
            ),
        ),
        ("a list", list("List", &plain)),
        ("a list in a list", list("List", &list("List", &plain))),
        ("a list of one kind", list("DeploymentList", &without_kind)),
        ("the last of two keys", plain.replace("kind: Deployment", "kind: Service\nkind: Deployment")),
        ("an anchor", plain.replace("name: orders", "name: &n orders, labels: {app: *n}")),
        ("a merge", plain.replace("{name: work, ", "{<<: {name: work}, ")),
        ("a tag", plain.replace("name: orders", "name: !!str orders")),
    ] {
        let ran = doctor("k8s.yaml", &text);
        assert!(ran.stdout.contains("probes-missing at "), "{what}: {text}\n{ran:?}");
    }
    // An anchor is known in its own document only.
    let text = format!("a: &a [x]\n---\n{plain}b: *a\n");
    let ran = doctor("k8s.yaml", &text);
    assert!(ran.code == 2 && ran.stderr.ends_with("found unknown anchor\n"), "{ran:?}");
}

#[test]
fn templates_whose_texts_are_bombs_end() {
    let text = doubling("[x]", 17).lines().skip(2).fold(String::new(), |all, line| all + line + ", ");
    let policy = format!("{{{text}}}").replace('\'', "");
    let queues: String = (0..300)
        .map(|at| {
            format!("  Q{at}:\n    Type: AWS::SQS::Queue\n    Properties: {{RedrivePolicy: '{policy}'}}\n")
        })
        .collect();
    let ran = doctor("template.yaml", &format!("Resources:\n{queues}"));
    ran.ended(0).stderr_has("RedrivePolicy of Q0 is not JSON");
}

#[test]
fn a_plan_with_more_values_than_any_is_refused() {
    let many = format!("[{}0]", "0,".repeat(4_000_000));
    let plan = json!({ "terraform_version": "1.9.0", "planned_values": { "root_module": { "resources": [{
        "address": "aws_sqs_queue.a", "mode": "managed", "type": "aws_sqs_queue", "values": { "tags": "MANY" },
    }] } } });
    let ran = doctor("plan.json", &plan.to_string().replace("\"MANY\"", &many));
    assert!(
        ran.code == 2 && ran.stderr.contains("more than 3000000 values"),
        "{} {:.400}",
        ran.code,
        ran.stderr
    );
}

#[test]
fn a_file_without_an_end_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    if !std::path::Path::new("/dev/zero").exists() {
        return;
    }
    for line in [
        "send --queue orders /dev/zero",
        "dlq retry --queue orders --ids /dev/zero",
        "dlq import --queue orders /dev/zero",
        "doctor /dev/zero",
        "send --queue orders - < /dev/zero",
        "dlq import --queue orders - < /dev/zero",
    ] {
        let ran = bounded(line, folder.path(), "");
        assert!(ran.code > 0 && ran.stderr.contains("more than "), "{line}: {ran:?}");
    }
}
