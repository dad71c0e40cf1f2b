//! Source files that another tool must convert before they can be read.

use std::path::Path;

use crate::deployment::kubernetes;

const TERRAFORM: &str = "this is Terraform code; run `terraform plan -out plan && terraform show -json plan > plan.json` and \
                         check plan.json";
const SERVERLESS: &str = "this is a file of the Serverless Framework; run `serverless package` and check \
                          .serverless/cloudformation-template-update-stack.json";
const TERRAFORM_LOG: &str = "this is the log of `terraform plan -json`; run `terraform plan -out plan && terraform show \
                             -json plan > plan.json` and check plan.json";
const CHART: &str = "this is a template of a Helm chart; run `helm template CHART > manifests.yaml`, where CHART is the chart's \
                     folder, and check manifests.yaml";
const KUSTOMIZATION: &str = "this is a kustomization; run `kubectl kustomize FOLDER > manifests.yaml`, where FOLDER is its folder, \
                             and check manifests.yaml";

/// Returns what such a file is and how to convert it, or `None` for a template, a plan or manifests.
pub fn not_yet(path: &Path, text: &str) -> Option<&'static str> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    let is = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let begins = |start: &str| text.lines().any(|line| line.starts_with(start));
    let has_blocks = || begins("resource \"aws_") || begins("module \"") && begins("}");
    if is(&[".tf", ".tofu", ".tf.json"]) || (!is(&[".yaml", ".yml", ".json"]) && has_blocks()) {
        return Some(TERRAFORM);
    }
    if text.starts_with("{\"@level\":") {
        return Some(TERRAFORM_LOG);
    }
    if kubernetes::is_chart(text) && !begins("Resources:") {
        return Some(CHART);
    }
    if is(&["kustomization.yaml", "kustomization.yml"]) || begins("kind: Kustomization") {
        return Some(KUSTOMIZATION);
    }
    let is_named = name.starts_with("serverless.") && !begins("Resources:");
    let is_service = begins("service:") && begins("provider:") && begins("functions:");
    (is_named && is(&[".yml", ".yaml", ".ts", ".js"]) || is_service).then_some(SERVERLESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_files_are_distinguished_from_what_is_made_of_them() {
        let service = "service: shop\nprovider: {name: aws}\nfunctions: {}\n";
        let block = "resource \"aws_sqs_queue\" \"q\" {\n}\n";
        for (name, text, expected) in [
            ("main.tf", "", Some(TERRAFORM)),
            ("infra/queues.tf.json", "{}", Some(TERRAFORM)),
            ("stdin", block, Some(TERRAFORM)),
            ("serverless.yml", "", Some(SERVERLESS)),
            ("serverless.ts", "", Some(SERVERLESS)),
            ("shop.yml", service, Some(SERVERLESS)),
            ("stdin", service, Some(SERVERLESS)),
            ("serverless.yml", "Resources:\n  Q: {Type: AWS::SQS::Queue}\n", None),
            ("template.yaml", "Resources:\n  Q: {Type: AWS::SQS::Queue}\n", None),
            ("plan.json", "{}", None),
            ("k8s.yaml", "apiVersion: v1\nkind: Service\n", None),
            ("plan.json", "{\"@level\":\"info\"}\n{}\n", Some(TERRAFORM_LOG)),
            ("deployment.yaml", "kind: Deployment\nname: {{ .Release.Name }}\n", Some(CHART)),
            ("deployment.yaml", "{{- include \"orders.labels\" . }}\n", Some(CHART)),
            ("rules.yaml", "kind: PrometheusRule\nsummary: '{{ $value }} of {{ .Labels.queue }}'\n", None),
            ("kustomization.yaml", "resources: [a.yaml]\n", Some(KUSTOMIZATION)),
        ] {
            assert_eq!(not_yet(Path::new(name), text), expected, "{name}");
        }
    }
}
